//===- InsertMasks.cpp - tts-insert-masks --------------------------------===//
// Padding must not leak into valid time steps through convolutions and the
// like: what they read is zero there, by a mask where nothing else proves it.

#include "ZeroPadding.h"
#include "tts/Dialect/Tts/IR/Names.h"
#include "tts/Transforms/Differentiate/Passes.h"

namespace tts {
#define GEN_PASS_DEF_INSERTMASKS
#include "tts/Transforms/Differentiate/Passes.h.inc"
} // namespace tts

using namespace mlir;
using namespace tts;

/// The highest place for a mask of `operand`: above ops that keep zeros and
/// have no other reader. The gradient of relu reads relu's result; masked
/// above, that result is also what the time-mixing op reads.
static OpOperand *findPlace(OpOperand *operand) {
  for (;;) {
    Operation *op = operand->get().getDefiningOp();
    Value above = ZeroPadding::getKeptOperand(op);
    if (!above || isa<MaskOp>(op) || !operand->get().hasOneUse())
      return operand;
    operand = llvm::find_if(op->getOpOperands(), [&](OpOperand &candidate) {
      return candidate.get() == above;
    });
  }
}

namespace {
struct InsertMasks : tts::impl::InsertMasksBase<InsertMasks> {
  using InsertMasksBase::InsertMasksBase;

  /// One mask per value, made right after it.
  LogicalResult mask(TimeMixingOpInterface op, OpOperand &operand,
                     ZeroPadding &padding, DenseMap<Value, Value> &masks) {
    if (padding.isZero(operand.get())) {
      ++spared;
      return success();
    }
    StringRef time = ZeroPadding::getTimeName(operand.get());
    if (time.empty())
      return emitError(op->getLoc())
             << "'" << op->getName() << "' mixes time steps of operand #"
             << operand.getOperandNumber()
             << ", whose dimension 1 has no name; write it as '?' with a name "
                "in #tts.dims";
    Value lengths = padding.getLengths(time);
    if (!lengths)
      return emitError(op->getLoc())
             << "'" << op->getName() << "' mixes time steps along '" << time
             << "', but no argument holds its lengths; give the lengths' "
                "argument, or the op that computes them, tts.lengths = \""
             << time << "\"";
    if (Operation *made = lengths.getDefiningOp();
        made && !made->isBeforeInBlock(op))
      return emitError(op->getLoc())
             << "'" << op->getName() << "' mixes time steps along '" << time
             << "' before its lengths are computed; compute them first";
    OpOperand *place = findPlace(&operand);
    Value &masked = masks[place->get()];
    if (!masked) {
      OpBuilder builder(op);
      builder.setInsertionPointAfterValue(place->get());
      if (Operation *made = lengths.getDefiningOp();
          made && !made->isBeforeInBlock(&*builder.getInsertionPoint()))
        builder.setInsertionPointAfter(made);
      std::string name = getStableName(op->getLoc()) + ".mask";
      masked = MaskOp::create(
          builder, NameLoc::get(builder.getStringAttr(name), op->getLoc()),
          place->get().getType(), place->get(), lengths);
      ++inserted;
    }
    place->set(masked);
    return success();
  }

  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isExternal())
      return;
    ZeroPadding padding(func);
    DenseMap<Value, Value> masks;
    WalkResult result = func.walk([&](TimeMixingOpInterface op) {
      for (unsigned number : op.getTimeMixedOperands())
        if (failed(mask(op, op->getOpOperand(number), padding, masks)))
          return WalkResult::interrupt();
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
