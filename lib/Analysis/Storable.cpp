//===- Storable.cpp - what may be kept in half a number's bytes -----------===//

#include "tts/Analysis/Storable.h"
#include "tts/Analysis/Recomputable.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"

using namespace mlir;
using namespace tts;

bool tts::canStoreHalf(OpResult value) {
  Operation *op = value.getOwner();
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !type.getElementType().isF32() || isFreeToRecompute(op))
    return false;
  auto rules = dyn_cast<PrecisionOpInterface>(op);
  return rules &&
         rules.getResultPrecision(value.getResultNumber()) != Precision::Full;
}

bool tts::isReadInFull(Value value) {
  return llvm::any_of(value.getUses(), [](OpOperand &use) {
    Operation *reader = use.getOwner();
    if (reader->hasTrait<OpTrait::IsTerminator>())
      return false;
    if (isFreeToRecompute(reader))
      return isReadInFull(reader->getResult(0));
    auto rules = dyn_cast<PrecisionOpInterface>(reader);
    return !rules ||
           rules.getOperandPrecision(use.getOperandNumber()) == Precision::Full;
  });
}
