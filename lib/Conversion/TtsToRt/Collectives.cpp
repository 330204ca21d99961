//===- Collectives.cpp - what ranks exchange as entries of the step table -===//

#include "Patterns.h"
#include "tts/Dialect/Tts/IR/Names.h"

using namespace mlir;
using namespace tts;

/// Room for two messages out and two in: of 1 MiB, from which on larger ones
/// are no faster, or an eighth of the values, that chunks come in a few.
static IntegerAttr getRoomBytes(Builder &builder, TypeRange types) {
  constexpr int64_t kMessage = 1 << 20, kMessages = 4, kLeast = 64;
  int64_t bytes = 0;
  for (Type type : types) {
    auto tensor = cast<RankedTensorType>(type);
    bytes += tensor.getNumElements() * tensor.getElementTypeBitWidth() / 8;
  }
  return builder.getI64IntegerAttr(kMessages *
                                   std::clamp(bytes / 8, kLeast, kMessage));
}

/// Whether what follows runs beside it.
static void copyAhead(Operation *from, Operation *to) {
  if (Attribute ahead = from->getAttr(kAheadAttr))
    to->setAttr(rt::kAheadAttr, ahead);
}

namespace {
struct LowerAllReduce : OpRewritePattern<AllReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AllReduceOp op,
                                PatternRewriter &rewriter) const override {
    auto room = getRoomBytes(rewriter, op.getResultTypes());
    auto call = rewriter.replaceOpWithNewOp<rt::AllReduceOp>(
        op, op.getResultTypes(), op.getValues(), op.getAmongAttr());
    call->setAttr(rt::kScratchAttr, room);
    return success();
  }
};

struct LowerShard : OpRewritePattern<ShardOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ShardOp op,
                                PatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<rt::ShardOp>(op, op.getResultTypes(),
                                             op.getValues(), op.getRanks());
    return success();
  }
};

struct LowerReduceScatter : OpRewritePattern<ReduceScatterOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReduceScatterOp op,
                                PatternRewriter &rewriter) const override {
    auto call = rt::ReduceScatterOp::create(
        rewriter, op.getLoc(), op.getResultTypes(), op.getValues(),
        op.getAccumulators(), op.getRanks());
    call->setAttr(rt::kScratchAttr,
                  getRoomBytes(rewriter, op.getValues().getTypes()));
    copyAhead(op, call);
    rewriter.replaceOp(op, call);
    return success();
  }
};

struct LowerAllGather : OpRewritePattern<AllGatherOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AllGatherOp op,
                                PatternRewriter &rewriter) const override {
    auto call =
        rt::AllGatherOp::create(rewriter, op.getLoc(), op.getResultTypes(),
                                op.getShards(), op.getRanks());
    call->setAttr(rt::kScratchAttr,
                  getRoomBytes(rewriter, op.getResultTypes()));
    copyAhead(op, call);
    rewriter.replaceOp(op, call);
    return success();
  }
};

/// Sent from a copy, which nobody writes while the message is under way.
struct LowerSend : OpRewritePattern<SendOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SendOp op,
                                PatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getValue().getType());
    int64_t bytes = type.getNumElements() * type.getElementTypeBitWidth() / 8;
    auto call = rewriter.replaceOpWithNewOp<rt::SendOp>(
        op, op.getValue(), op.getStage(), op.getChannel());
    call->setAttr(rt::kScratchAttr, rewriter.getI64IntegerAttr(bytes));
    return success();
  }
};

struct LowerReceive : OpRewritePattern<ReceiveOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReceiveOp op,
                                PatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<rt::ReceiveOp>(op, op.getValue().getType(),
                                               op.getStage(), op.getChannel());
    return success();
  }
};
} // namespace

void tts::populateCollectivePatterns(RewritePatternSet &patterns) {
  patterns.add<LowerAllReduce, LowerShard, LowerReduceScatter, LowerAllGather,
               LowerSend, LowerReceive>(patterns.getContext());
}
