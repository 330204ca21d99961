//===- Recomputable.cpp - what may be computed twice ---------------------===//

#include "tts/Analysis/Recomputable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"

using namespace mlir;
using namespace tts;

bool tts::canRecompute(Operation *op) {
  if (auto accumulating = dyn_cast<AccumulatingOpInterface>(op))
    if (accumulating.getAccumulator())
      return false;
  return isPure(op) && !isa<InPlaceOpInterface>(op);
}

bool tts::isFreeToRecompute(Operation *op) {
  return canRecompute(op) &&
         (op->getNumOperands() == 0 || op->hasTrait<Alias>() ||
          op->hasTrait<Indexing>());
}
