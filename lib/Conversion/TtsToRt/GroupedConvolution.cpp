//===- GroupedConvolution.cpp - one batch of products per tap ------------===//
//
// Each utterance gets taps - 1 rows of zeros, so that the rows of all of them
// are one run and tap j reads it j rows further on: one product per tap, its
// batch over the groups, whose channels lie side by side. What a product
// computes in the added rows is left out again. For the filter the added rows
// of the result's side are zero.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"

using namespace mlir;
using namespace tts;

namespace {
RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// A convolution of `groups` runs of channels on padded rows.
class Padded {
public:
  Padded(PatternRewriter &builder, Location loc, Value input,
         RankedTensorType kernel, int64_t groups)
      : builder(builder), loc(loc), groups(groups), taps(kernel.getDimSize(0)),
        inEach(kernel.getDimSize(1)), out(kernel.getDimSize(2)),
        batch(typeOf(input).getDimSize(0)), time(typeOf(input).getDimSize(1)),
        period(time + taps - 1), rows(batch * period - (taps - 1)),
        element(kernel.getElementType()) {}

  Value pad(Value x, int64_t left) {
    auto type = RankedTensorType::get({batch, period, typeOf(x).getDimSize(2)},
                                      element);
    return PadTimeOp::create(builder, loc, type, x,
                             builder.getI64IntegerAttr(left));
  }

  /// Σ_j of the rows j further on (or taps - 1 - j, `backward`) of `x` by tap
  /// j, each group by itself, without the added rows.
  Value convolve(Value x, Value w, bool backward, Type result) {
    int64_t from = backward ? out : in(), to = backward ? in() : out;
    Value y =
        emitEmpty(builder, loc, RankedTensorType::get({rows, to}, element));
    for (int64_t tap = 0; tap < taps; ++tap) {
      Product product{rows, to / groups, from / groups};
      product.transposeB = backward;
      product.beta = tap > 0;
      product.batch = groups;
      product.lda = from, product.ldb = out, product.ldc = to;
      product.strideA = from / groups, product.strideB = out / groups;
      product.strideC = to / groups;
      product.offsetA = (backward ? taps - 1 - tap : tap) * from;
      product.offsetB = tap * inEach * out;
      y = emitProduct(builder, loc, x, w, y, product);
    }
    return UnpadTimeOp::create(builder, loc, result, y,
                               builder.getI64IntegerAttr(period));
  }

  /// dw += Σ over rows of (x, tap rows further on)ᵀ · dy.
  Value filter(Value x, Value dy, Value dw) {
    for (int64_t tap = 0; tap < taps; ++tap) {
      Product product{inEach, out / groups, rows};
      product.transposeA = true;
      product.beta = 1;
      product.batch = groups;
      product.lda = in(), product.ldb = out, product.ldc = out;
      product.strideA = inEach, product.strideB = out / groups;
      product.strideC = out / groups;
      product.offsetA = tap * in();
      product.offsetC = tap * inEach * out;
      dw = emitProduct(builder, loc, x, dy, dw, product);
    }
    return dw;
  }

private:
  int64_t in() const { return inEach * groups; }

  PatternRewriter &builder;
  Location loc;
  int64_t groups, taps, inEach, out, batch, time, period, rows;
  Type element;
};

struct LowerGroupedConv1d : OpRewritePattern<Conv1dOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(Conv1dOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getGroups() == 1)
      return failure();
    Padded p(rewriter, op.getLoc(), op.getX(), typeOf(op.getW()),
             op.getGroups());
    Value x = p.pad(op.getX(), op.getLeft());
    rewriter.replaceOp(
        op, p.convolve(x, op.getW(), /*backward=*/false, op.getY().getType()));
    return success();
  }
};

struct LowerGroupedInputGrad : OpRewritePattern<Conv1dInputGradOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(Conv1dInputGradOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getGroups() == 1)
      return failure();
    RankedTensorType kernel = typeOf(op.getW());
    Padded p(rewriter, op.getLoc(), op.getDy(), kernel, op.getGroups());
    // dx[s] reads dy[s - j + left].
    Value dy = p.pad(op.getDy(), kernel.getDimSize(0) - 1 - op.getLeft());
    rewriter.replaceOp(
        op, p.convolve(dy, op.getW(), /*backward=*/true, op.getDx().getType()));
    return success();
  }
};

struct LowerGroupedFilterGrad : OpRewritePattern<Conv1dFilterGradOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(Conv1dFilterGradOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getGroups() == 1)
      return failure();
    Padded p(rewriter, op.getLoc(), op.getX(), typeOf(op.getDw()),
             op.getGroups());
    Value dw = op.getAcc();
    if (!dw)
      dw = FullOp::create(rewriter, op.getLoc(), op.getDw().getType(),
                          rewriter.getF64FloatAttr(0));
    Value x = p.pad(op.getX(), op.getLeft()), dy = p.pad(op.getDy(), 0);
    rewriter.replaceOp(op, p.filter(x, dy, dw));
    return success();
  }
};
} // namespace

void tts::populateGroupedConvolutionPatterns(RewritePatternSet &patterns) {
  patterns
      .add<LowerGroupedConv1d, LowerGroupedInputGrad, LowerGroupedFilterGrad>(
          patterns.getContext());
}
