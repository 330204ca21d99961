//===- Rotary.cpp - heads become a dimension of rotary positions ----------===//

#include "Patterns.h"

using namespace mlir;
using namespace tts;

namespace {
/// [batch, time, heads·d] as [batch, time, heads, d]: a row of the kernel is
/// one head's, as is a row of the table.
struct SplitRotaryHeads : OpRewritePattern<RotaryOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(RotaryOp op,
                                PatternRewriter &rewriter) const override {
    int64_t heads = op.getHeads();
    if (heads == 1)
      return failure();
    auto flat = op.getType();
    auto split = RankedTensorType::get({flat.getDimSize(0), flat.getDimSize(1),
                                        heads, flat.getDimSize(2) / heads},
                                       flat.getElementType());
    Value x = rt::AliasOp::create(rewriter, op.getLoc(), split, op.getX());
    Value y =
        RotaryOp::create(rewriter, op.getLoc(), split, x, op.getTable(),
                         rewriter.getI64IntegerAttr(1), op.getInverseAttr());
    rewriter.replaceOpWithNewOp<rt::AliasOp>(op, flat, y);
    return success();
  }
};
} // namespace

void tts::populateRotaryPatterns(RewritePatternSet &patterns) {
  patterns.add<SplitRotaryHeads>(patterns.getContext());
}
