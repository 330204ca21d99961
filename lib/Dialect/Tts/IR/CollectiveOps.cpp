//===- CollectiveOps.cpp - what a collective asks of its values -----------===//

#include "tts/Dialect/Tts/IR/TtsDialect.h"

using namespace mlir;
using namespace tts;

LogicalResult AllReduceOp::verify() {
  if (getValues().empty())
    return emitOpError("has nothing to sum");
  if (getValues().getTypes() != getSums().getTypes())
    return emitOpError("gives sums of other types than its values");
  auto isFirst = [&](Type type) {
    return getElementTypeOrSelf(type) ==
           getElementTypeOrSelf(getValues().front().getType());
  };
  if (!llvm::all_of(getValues().getTypes(), isFirst))
    return emitOpError("sums values of several element types; use an op for "
                       "each");
  return success();
}
