//===- Convolution.cpp - conv1d as one matrix product per tap ------------===//
//
// Tap j reads the input shifted by s = j - left. Only the rows t of the
// sequence with t + s inside it take part, so each tap is a product over a view
// of both tensors and no padded copy exists. The unshifted tap covers every row
// of every utterance, overwrites the result and so comes first.
//
// Where the target found its library's convolution faster, that is called.
// Groups are in GroupedConvolution.cpp.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"

using namespace mlir;
using namespace tts;

namespace {
/// The rows that one tap joins.
struct Tap {
  int64_t index; ///< into the kernel
  int64_t first; ///< first row t of the output side
  int64_t shift; ///< row t + shift of the input side
  int64_t rows;  ///< per utterance
};

SmallVector<Tap> getTaps(int64_t taps, int64_t left, int64_t time) {
  SmallVector<Tap> result;
  auto add = [&](int64_t index) {
    int64_t shift = index - left, rows = time - std::abs(shift);
    if (rows > 0)
      result.push_back({index, std::max<int64_t>(0, -shift), shift, rows});
  };
  add(left);
  for (int64_t index = 0; index < taps; ++index)
    if (index != left)
      add(index);
  return result;
}

struct Shape {
  int64_t batch, time, in, out, taps;

  Shape(Value input, Value output, RankedTensorType kernel)
      : taps(kernel.getDimSize(0)) {
    auto x = cast<RankedTensorType>(input.getType());
    batch = x.getDimSize(0);
    time = x.getDimSize(1);
    in = x.getDimSize(2);
    out = cast<RankedTensorType>(output.getType()).getDimSize(2);
  }

  /// Rows as (m or k, batch): all utterances are one run of rows when none is
  /// cut off.
  std::pair<int64_t, int64_t> fold(const Tap &tap) const {
    return tap.shift == 0 ? std::pair(batch * time, int64_t(1))
                          : std::pair(tap.rows, batch);
  }
};

RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// Several taps add up before the sum is rounded.
RankedTensorType accumulatedAs(Value result, ArrayRef<Tap> taps) {
  RankedTensorType type = typeOf(result);
  return taps.size() > 1 ? getSumType(type) : type;
}

/// The library's convolution onto `c` if there is one, plus `bias` if there is
/// one; null unless the target chose it for this op.
template <typename ConvOp>
Value callLibrary(OpBuilder &builder, ConvOp op, Value x, bool transpose,
                  Value c = {}, Value bias = {}) {
  Attribute scratch = op->getAttr(rt::kScratchAttr);
  if (!scratch)
    return {};
  RankedTensorType type = typeOf(op->getResult(0));
  auto call =
      rt::Conv1dOp::create(builder, op.getLoc(), getSumType(type), x, op.getW(),
                           c, bias, builder.getI64IntegerAttr(op.getLeft()),
                           transpose ? builder.getUnitAttr() : UnitAttr());
  call->setAttr(rt::kScratchAttr, scratch);
  return roundTo(builder, op.getLoc(), call, type);
}

struct LowerConv1d : OpRewritePattern<Conv1dOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(Conv1dOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getGroups() > 1)
      return failure();
    if (Value y = callLibrary(rewriter, op, op.getX(), /*transpose=*/false)) {
      rewriter.replaceOp(op, y);
      return success();
    }
    Shape s(op.getX(), op.getY(), typeOf(op.getW()));
    SmallVector<Tap> taps = getTaps(s.taps, op.getLeft(), s.time);
    Value y = emitEmpty(rewriter, op.getLoc(), accumulatedAs(op.getY(), taps));
    for (const Tap &tap : taps) {
      auto [rows, batch] = s.fold(tap);
      Product product{rows, s.out, s.in};
      product.beta = tap.shift == 0 ? 0 : 1;
      product.batch = batch;
      product.strideA = batch > 1 ? s.time * s.in : 0;
      product.strideC = batch > 1 ? s.time * s.out : 0;
      product.offsetA = (tap.first + tap.shift) * s.in;
      product.offsetB = tap.index * s.in * s.out;
      product.offsetC = tap.first * s.out;
      y = emitProduct(rewriter, op.getLoc(), op.getX(), op.getW(), y, product);
    }
    rewriter.replaceOp(op,
                       roundTo(rewriter, op.getLoc(), y, typeOf(op.getY())));
    return success();
  }
};

struct LowerConv1dInputGrad : OpRewritePattern<Conv1dInputGradOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(Conv1dInputGradOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getGroups() > 1)
      return failure();
    if (Value dx = callLibrary(rewriter, op, op.getDy(), /*transpose=*/true)) {
      rewriter.replaceOp(op, dx);
      return success();
    }
    Shape s(op.getDx(), op.getDy(), typeOf(op.getW()));
    SmallVector<Tap> taps = getTaps(s.taps, op.getLeft(), s.time);
    Value dx =
        emitEmpty(rewriter, op.getLoc(), accumulatedAs(op.getDx(), taps));
    for (const Tap &tap : taps) {
      auto [rows, batch] = s.fold(tap);
      Product product{rows, s.in, s.out};
      product.transposeB = true;
      product.beta = tap.shift == 0 ? 0 : 1;
      product.batch = batch;
      product.strideA = batch > 1 ? s.time * s.out : 0;
      product.strideC = batch > 1 ? s.time * s.in : 0;
      product.offsetA = tap.first * s.out;
      product.offsetB = tap.index * s.in * s.out;
      product.offsetC = (tap.first + tap.shift) * s.in;
      dx = emitProduct(rewriter, op.getLoc(), op.getDy(), op.getW(), dx,
                       product);
    }
    rewriter.replaceOp(op,
                       roundTo(rewriter, op.getLoc(), dx, typeOf(op.getDx())));
    return success();
  }
};

struct LowerConv1dFilterGrad : OpRewritePattern<Conv1dFilterGradOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(Conv1dFilterGradOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getGroups() > 1)
      return failure();
    Shape s(op.getX(), op.getDy(), typeOf(op.getDw()));
    SmallVector<Tap> taps = getTaps(s.taps, op.getLeft(), s.time);
    // A tap that reaches no row of so short a sequence adds zero. That is
    // written, too, so that a gradient without a product is seen as a fault.
    bool reachesAll = static_cast<int64_t>(taps.size()) == s.taps;
    Value dw = reachesAll ? op.getAcc() : Value();
    if (!dw)
      dw = FullOp::create(rewriter, op.getLoc(), op.getDw().getType(),
                          rewriter.getF64FloatAttr(0));
    for (const Tap &tap : taps) {
      auto [rows, batch] = s.fold(tap);
      Product product{s.in, s.out, rows};
      product.transposeA = true;
      product.beta = 1;
      product.batch = batch;
      product.strideA = batch > 1 ? s.time * s.in : 0;
      product.strideB = batch > 1 ? s.time * s.out : 0;
      product.offsetA = (tap.first + tap.shift) * s.in;
      product.offsetB = tap.first * s.out;
      product.offsetC = tap.index * s.in * s.out;
      dw = emitProduct(rewriter, op.getLoc(), op.getX(), op.getDy(), dw,
                       product);
    }
    if (op.getAcc() && !reachesAll)
      dw = AccumulateOp::create(rewriter, op.getLoc(), op.getAcc(), dw);
    rewriter.replaceOp(op, dw);
    return success();
  }
};
} // namespace

Value tts::emitConv1d(OpBuilder &builder, Conv1dOp op, Value c, Value bias) {
  if (Value y =
          callLibrary(builder, op, op.getX(), /*transpose=*/false, c, bias))
    return y;
  Shape s(op.getX(), op.getY(), typeOf(op.getW()));
  Product product{s.batch * s.time, s.out, s.in};
  product.beta = c ? 1 : 0;
  product.bias = bias;
  if (!c)
    c = emitEmpty(builder, op.getLoc(), op.getY().getType());
  return emitProduct(builder, op.getLoc(), op.getX(), op.getW(), c, product);
}

void tts::populateConvolutionPatterns(RewritePatternSet &patterns) {
  patterns.add<LowerConv1d, LowerConv1dInputGrad, LowerConv1dFilterGrad>(
      patterns.getContext());
}
