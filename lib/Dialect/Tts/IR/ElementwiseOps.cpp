//===- ElementwiseOps.cpp - folds of pointwise ops ------------------------===//

#include "mlir/IR/PatternMatch.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"

using namespace mlir;
using namespace tts;

OpFoldResult CastOp::fold(FoldAdaptor) {
  return getX().getType() == getY().getType() ? getX() : OpFoldResult();
}

namespace {
/// accumulate(acc, f(x)) → f(x) into acc, where f accumulates by itself and
/// nobody else reads its plain result.
struct AccumulateInPlace : OpRewritePattern<AccumulateOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AccumulateOp op,
                                PatternRewriter &rewriter) const override {
    auto producer = op.getX().getDefiningOp<AccumulatingOpInterface>();
    if (!producer || producer.getAccumulator() || !op.getX().hasOneUse() ||
        op.getX() != producer->getResult(0))
      return failure();
    // The accumulator may be defined after the producer (a chain over several
    // contributions), so the producer moves down to the accumulation; but not
    // past readers of its other results.
    if (producer->getNumResults() == 1)
      rewriter.moveOpBefore(producer, op);
    else if (!isa<BlockArgument>(op.getAcc()))
      return failure();
    rewriter.modifyOpInPlace(producer,
                             [&] { producer.setAccumulator(op.getAcc()); });
    rewriter.replaceOp(op, producer->getResult(0));
    return success();
  }
};
} // namespace

void AccumulateOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                               MLIRContext *context) {
  patterns.add<AccumulateInPlace>(context);
}
