//===- Attention.cpp - attention one utterance at a time -----------------===//
//
// Scores and probabilities of one utterance, [heads, time, time], are the only
// square tensors that exist; backward computes them again from q and k.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"

using namespace mlir;
using namespace tts;

namespace {
/// Builds the products of one utterance; heads are views with stride d.
class Heads {
public:
  Heads(PatternRewriter &builder, Location loc, Value q, Value lengths,
        int64_t heads)
      : builder(builder), loc(loc), lengths(lengths), heads(heads) {
    auto type = cast<RankedTensorType>(q.getType());
    batch = type.getDimSize(0);
    time = type.getDimSize(1);
    channels = type.getDimSize(2);
    depth = channels / heads;
    square = RankedTensorType::get({heads, time, time}, type.getElementType());
  }

  FloatAttr scale() const {
    return builder.getF64FloatAttr(1 / std::sqrt(double(depth)));
  }

  /// softmax(scale · q kᵀ) of utterance b.
  Value probabilities(Value q, Value k, int64_t b) const {
    auto one = RankedTensorType::get({1}, builder.getI32Type());
    Value length = rt::SliceOp::create(builder, loc, one, lengths, b);
    return KeySoftmaxOp::create(builder, loc, square, outer(q, k, b), length,
                                scale());
  }

  /// x yᵀ per head, [heads, time, time].
  Value outer(Value x, Value y, int64_t b) const {
    Product product{time, time, depth};
    product.transposeB = true;
    product.lda = product.ldb = channels;
    product.batch = heads;
    product.strideA = product.strideB = depth;
    product.strideC = time * time;
    product.offsetA = product.offsetB = b * time * channels;
    return emitProduct(builder, loc, x, y, emitEmpty(builder, loc, square),
                       product);
  }

  /// result[b] = s·x or sᵀ·x per head, into the rows of utterance b.
  Value apply(Value s, bool transpose, Value x, Value result, int64_t b) const {
    Product product{time, depth, time};
    product.transposeA = transpose;
    product.ldb = product.ldc = channels;
    product.batch = heads;
    product.strideA = time * time;
    product.strideB = product.strideC = depth;
    product.offsetB = product.offsetC = b * time * channels;
    return emitProduct(builder, loc, s, x, result, product);
  }

  int64_t batch;

private:
  PatternRewriter &builder;
  Location loc;
  Value lengths;
  int64_t heads, time, channels, depth;
  RankedTensorType square;
};

struct LowerAttention : OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AttentionOp op,
                                PatternRewriter &rewriter) const override {
    Heads heads(rewriter, op.getLoc(), op.getQ(), op.getLengths(),
                op.getHeads());
    Value y = emitEmpty(rewriter, op.getLoc(), op.getY().getType());
    for (int64_t b = 0; b < heads.batch; ++b)
      y = heads.apply(heads.probabilities(op.getQ(), op.getK(), b), false,
                      op.getV(), y, b);
    rewriter.replaceOp(op, y);
    return success();
  }
};

struct LowerAttentionGrad : OpRewritePattern<AttentionGradOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AttentionGradOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Heads heads(rewriter, loc, op.getQ(), op.getLengths(), op.getHeads());
    Value dq = emitEmpty(rewriter, loc, op.getDq().getType());
    Value dk = emitEmpty(rewriter, loc, op.getDk().getType());
    Value dv = emitEmpty(rewriter, loc, op.getDv().getType());
    for (int64_t b = 0; b < heads.batch; ++b) {
      Value p = heads.probabilities(op.getQ(), op.getK(), b);
      Value dp = heads.outer(op.getDy(), op.getV(), b);
      dv = heads.apply(p, true, op.getDy(), dv, b);
      Value ds = KeySoftmaxGradOp::create(rewriter, loc, p.getType(), p, dp,
                                          heads.scale());
      dq = heads.apply(ds, false, op.getK(), dq, b);
      dk = heads.apply(ds, true, op.getQ(), dk, b);
    }
    rewriter.replaceOp(op, {dq, dk, dv});
    return success();
  }
};
} // namespace

void tts::populateAttentionPatterns(RewritePatternSet &patterns) {
  patterns.add<LowerAttention, LowerAttentionGrad>(patterns.getContext());
}
