//===- Accumulation.cpp - sums that begin anew ----------------------------===//

#include "tts/Dialect/Tts/IR/Accumulation.h"

#include "mlir/IR/Builders.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"

using namespace mlir;
using namespace tts;

void tts::startAccumulatorAnew(OpOperand &use) {
  Operation *op = use.getOwner();
  if (auto adding = dyn_cast<AccumulatingOpInterface>(op);
      adding && adding.getAccumulator() == use.get())
    return op->eraseOperand(use.getOperandNumber());
  OpBuilder builder(op);
  Value zero = FullOp::create(builder, op->getLoc(), use.get().getType(),
                              builder.getF64FloatAttr(0));
  auto accumulate = dyn_cast<AccumulateOp>(op);
  if (!accumulate)
    return use.set(zero); // no contribution at all
  // In storage of its own: others may read what is added.
  Value sum = AddOp::create(builder, op->getLoc(), zero, accumulate.getX());
  accumulate.getResult().replaceAllUsesWith(sum);
  op->erase();
}
