//===- AllReduce.cpp - sums over ranks as entries of the step table -------===//

#include "Patterns.h"

using namespace mlir;
using namespace tts;

/// Room for two messages out and two in: of 1 MiB, from which on larger ones
/// are no faster, or an eighth of the values, that chunks come in a few.
static int64_t getRoomBytes(AllReduceOp op) {
  constexpr int64_t kMessage = 1 << 20, kMessages = 4, kLeast = 64;
  int64_t bytes = 0;
  for (Type type : op.getValues().getTypes()) {
    auto tensor = cast<RankedTensorType>(type);
    bytes += tensor.getNumElements() * tensor.getElementTypeBitWidth() / 8;
  }
  return kMessages * std::clamp(bytes / 8, kLeast, kMessage);
}

namespace {
struct LowerAllReduce : OpRewritePattern<AllReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AllReduceOp op,
                                PatternRewriter &rewriter) const override {
    int64_t room = getRoomBytes(op);
    auto call = rewriter.replaceOpWithNewOp<rt::AllReduceOp>(
        op, op.getResultTypes(), op.getValues());
    call->setAttr(rt::kScratchAttr, rewriter.getI64IntegerAttr(room));
    return success();
  }
};
} // namespace

void tts::populateCollectivePatterns(RewritePatternSet &patterns) {
  patterns.add<LowerAllReduce>(patterns.getContext());
}
