//===- Linear.cpp - linear layers as one matrix product ------------------===//

#include "Patterns.h"

using namespace mlir;
using namespace tts;

Value tts::emitEmpty(OpBuilder &builder, Location loc, Type type) {
  return rt::EmptyOp::create(builder, loc, type);
}

Value tts::emitProduct(OpBuilder &builder, Location loc, Value a, Value b,
                       Value c, Product p) {
  auto dense = [](int64_t given, int64_t columns) {
    return given ? given : columns;
  };
  auto shape = rt::GemmAttr::get(
      builder.getContext(), p.m, p.n, p.k,
      dense(p.lda, p.transposeA ? p.m : p.k),
      dense(p.ldb, p.transposeB ? p.k : p.n), dense(p.ldc, p.n), p.transposeA,
      p.transposeB, p.beta, p.batch, p.strideA, p.strideB, p.strideC);
  return rt::GemmOp::create(builder, loc, c.getType(), a, b, c, p.bias, shape,
                            p.offsetA, p.offsetB, p.offsetC);
}

RankedTensorType tts::getSumType(RankedTensorType type) {
  Type element = type.getElementType();
  return element.isBF16() || element.isF16()
             ? cast<RankedTensorType>(
                   type.clone(Float32Type::get(type.getContext())))
             : type;
}

Value tts::roundTo(OpBuilder &builder, Location loc, Value value,
                   RankedTensorType type) {
  if (value.getType() == type)
    return value;
  return CastOp::create(builder, loc, type, value);
}

static int64_t lastDim(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape().back();
}

static int64_t numRows(Value value) {
  return cast<RankedTensorType>(value.getType()).getNumElements() /
         lastDim(value);
}

Value tts::emitLinear(OpBuilder &builder, LinearOp op, Value c, Value bias) {
  Product product{numRows(op.getX()), lastDim(op.getY()), lastDim(op.getX())};
  product.transposeB = op.getTranspose();
  product.beta = c ? 1 : 0;
  product.bias = bias;
  if (!c)
    c = emitEmpty(builder, op.getLoc(), op.getY().getType());
  return emitProduct(builder, op.getLoc(), op.getX(), op.getW(), c, product);
}

namespace {
struct LowerLinear : OpRewritePattern<LinearOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(LinearOp op,
                                PatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, emitLinear(rewriter, op, {}, {}));
    return success();
  }
};

struct LowerWeightGrad : OpRewritePattern<WeightGradOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(WeightGradOp op,
                                PatternRewriter &rewriter) const override {
    Product product{lastDim(op.getX()), lastDim(op.getDy()),
                    numRows(op.getX())};
    product.transposeA = true;
    product.beta = op.getAcc() ? 1 : 0;
    Value dw = op.getAcc()
                   ? op.getAcc()
                   : emitEmpty(rewriter, op.getLoc(), op.getDw().getType());
    rewriter.replaceOp(op, emitProduct(rewriter, op.getLoc(), op.getX(),
                                       op.getDy(), dw, product));
    return success();
  }
};
} // namespace

void tts::populateLinearPatterns(RewritePatternSet &patterns) {
  patterns.add<LowerLinear, LowerWeightGrad>(patterns.getContext());
}
