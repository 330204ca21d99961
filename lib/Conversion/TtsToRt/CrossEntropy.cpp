//===- CrossEntropy.cpp - a linear layer and its cross entropy by chunks --===//
//
// A chunk of time steps, of whatever utterances, is one product that makes its
// logits and one kernel over their rows. Backward makes them again, turns them
// into their gradient in place and takes two more products. No tensor has all
// steps times classes.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"

using namespace mlir;
using namespace tts;

/// Steps per chunk: as many as have 1 MiB of logits, which then stay in a
/// second-level cache from the product to the kernel, but at least a sixteenth
/// of all, so that a longer micro-batch makes no more entries; a multiple
/// of 32.
static int64_t getSteps(int64_t steps, int64_t bytesOfLogits) {
  constexpr int64_t cached = 1 << 20;
  int64_t some = std::max(cached / bytesOfLogits, (steps + 15) / 16);
  return std::min(steps, (some + 31) / 32 * 32);
}

namespace {
/// Steps [first, first + rows) of all utterances in a row.
struct Chunk {
  int64_t first, rows;
};

/// What the lowering of the loss and of its gradient share.
template <typename OpT> class Chunks {
public:
  Chunks(PatternRewriter &builder, OpT op)
      : builder(builder), loc(op.getLoc()), op(op),
        in(cast<RankedTensorType>(op.getX().getType()).getDimSize(2)),
        classes(op.getW().getType().getDimSize(1)),
        steps(op.getTargets().getType().getNumElements()) {}

  SmallVector<Chunk> get() {
    unsigned bits = op.getW().getType().getElementTypeBitWidth();
    int64_t most = getSteps(steps, classes * bits / 8);
    SmallVector<Chunk> chunks;
    for (int64_t first = 0; first < steps; first += most)
      chunks.push_back({first, std::min(most, steps - first)});
    return chunks;
  }

  /// The targets in a row, those that do not count negative.
  Value targets() {
    Value rows = TargetRowsOp::create(builder, loc, op.getTargets().getType(),
                                      op.getTargets(), op.getLengths(),
                                      builder.getI64IntegerAttr(classes),
                                      op.getIgnoreIndexAttr());
    return inARow(rows);
  }

  /// [batch, time] as [batch · time].
  Value inARow(Value x) {
    Type element = cast<RankedTensorType>(x.getType()).getElementType();
    return rt::AliasOp::create(builder, loc,
                               RankedTensorType::get({steps}, element), x);
  }

  /// The chunk's part of one number per step.
  Value slice(Value all, Chunk chunk) {
    if (chunk.rows == steps)
      return all;
    Type element = cast<RankedTensorType>(all.getType()).getElementType();
    return rt::SliceOp::create(builder, loc,
                               RankedTensorType::get({chunk.rows}, element),
                               all, chunk.first);
  }

  Value logits(Chunk chunk) {
    Product product{chunk.rows, classes, in};
    product.offsetA = chunk.first * in;
    auto type = RankedTensorType::get({chunk.rows, classes},
                                      op.getW().getType().getElementType());
    return emitProduct(builder, loc, op.getX(), op.getW(),
                       emitEmpty(builder, loc, type), product);
  }

  /// The chunk's rows of dx = dl·wᵀ.
  Value inputGrad(Value dlogits, Value dx, Chunk chunk) {
    Product product{chunk.rows, in, classes};
    product.transposeB = true;
    product.offsetC = chunk.first * in;
    return emitProduct(builder, loc, dlogits, op.getW(), dx, product);
  }

  /// dw (+)= xᵀ·dl of the chunk's rows.
  Value weightGrad(Value dlogits, Value dw, Chunk chunk, bool adds) {
    Product product{in, classes, chunk.rows};
    product.transposeA = true;
    product.offsetA = chunk.first * in;
    product.beta = adds ? 1 : 0;
    return emitProduct(builder, loc, op.getX(), dlogits, dw, product);
  }

private:
  PatternRewriter &builder;
  Location loc;
  OpT op;
  int64_t in, classes, steps;
};

struct LowerCrossEntropy : OpRewritePattern<LinearCrossEntropyOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(LinearCrossEntropyOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Chunks<LinearCrossEntropyOp> chunks(rewriter, op);
    Value targets = chunks.targets();
    auto timed = op.getLse().getType();
    // Two storages: kernels of full constants are one each.
    auto zeros = [&] {
      return FullOp::create(rewriter, loc,
                            RankedTensorType::get({timed.getNumElements()},
                                                  timed.getElementType()),
                            rewriter.getF64FloatAttr(0));
    };
    Value losses = zeros(), lse = zeros();
    for (Chunk chunk : chunks.get()) {
      auto row = RowCrossEntropyOp::create(
          rewriter, loc, losses.getType(), lse.getType(), chunks.logits(chunk),
          targets, losses, lse, rewriter.getI64IntegerAttr(chunk.first));
      losses = row.getNewLosses();
      lse = row.getNewLse();
    }
    // Of each utterance first: the padding behind it changes no bit.
    losses = rt::AliasOp::create(rewriter, loc, timed, losses);
    auto each =
        RankedTensorType::get({timed.getDimSize(0)}, timed.getElementType());
    Value sums = SumToOp::create(rewriter, loc, each, losses,
                                 rewriter.getDenseI64ArrayAttr({0}), Value());
    Value sum = SumToOp::create(rewriter, loc, op.getSum().getType(), sums,
                                rewriter.getDenseI64ArrayAttr({}), Value());
    lse = rt::AliasOp::create(rewriter, loc, timed, lse);
    rewriter.replaceOp(op, {sum, lse});
    return success();
  }
};

struct LowerCrossEntropyGrad : OpRewritePattern<LinearCrossEntropyGradOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(LinearCrossEntropyGradOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Chunks<LinearCrossEntropyGradOp> chunks(rewriter, op);
    Value targets = chunks.targets(), lse = chunks.inARow(op.getLse());
    Value dx = emitEmpty(rewriter, loc, op.getDx().getType());
    Value dw = op.getAcc() ? op.getAcc()
                           : emitEmpty(rewriter, loc, op.getDw().getType());
    for (Chunk chunk : chunks.get()) {
      Value logits = chunks.logits(chunk);
      Value told = chunks.slice(targets, chunk);
      Value rows = chunks.slice(lse, chunk);
      Value dlogits = RowCrossEntropyGradOp::create(
          rewriter, loc, logits.getType(), logits, told, rows, op.getDsum());
      dx = chunks.inputGrad(dlogits, dx, chunk);
      dw =
          chunks.weightGrad(dlogits, dw, chunk, op.getAcc() || chunk.first > 0);
    }
    rewriter.replaceOp(op, {dw, dx});
    return success();
  }
};
} // namespace

void tts::populateCrossEntropyPatterns(RewritePatternSet &patterns) {
  patterns.add<LowerCrossEntropy, LowerCrossEntropyGrad>(patterns.getContext());
}
