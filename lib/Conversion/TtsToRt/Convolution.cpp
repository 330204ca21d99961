//===- Convolution.cpp - conv1d as one matrix product per tap ------------===//
//
// Tap j reads the input shifted by s = j - left. Only the rows t of the
// sequence with t + s inside it take part, so each tap is a product over a view
// of both tensors and no padded copy exists. The unshifted tap covers every row
// of every utterance, overwrites the result and so comes first.
//
// With groups a product joins the channels of one group on both sides. A batch
// of products runs over the groups of one utterance or over the utterances of
// one group, whichever are fewer entries.
//
// Where the target found its library's convolution faster, that is called.
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

/// One product of a tap: which utterances and groups its batch runs over, and
/// how many rows each element has.
struct Run {
  int64_t rows, batch;
  int64_t utterance, group;        ///< of the first element
  bool overUtterances, overGroups; ///< neither: one element
};

struct Shape {
  int64_t batch, time, in, out, taps, groups;

  Shape(Value input, Value output, RankedTensorType kernel, int64_t groups)
      : taps(kernel.getDimSize(0)), groups(groups) {
    auto x = cast<RankedTensorType>(input.getType());
    batch = x.getDimSize(0);
    time = x.getDimSize(1);
    in = x.getDimSize(2);
    out = cast<RankedTensorType>(output.getType()).getDimSize(2);
  }

  /// All utterances are one run of rows when none is cut off.
  SmallVector<Run> runs(const Tap &tap) const {
    if (tap.shift == 0)
      return {{batch * time, groups, 0, 0, false, groups > 1}};
    SmallVector<Run> result;
    if (groups <= batch)
      for (int64_t group = 0; group < groups; ++group)
        result.push_back({tap.rows, batch, 0, group, batch > 1, false});
    else
      for (int64_t utterance = 0; utterance < batch; ++utterance)
        result.push_back({tap.rows, groups, utterance, 0, false, true});
    return result;
  }

  int64_t inEach() const { return in / groups; }
  int64_t outEach() const { return out / groups; }
  /// Elements from the tensor's start to row `row` of the run, and from one
  /// element of the batch to the next; of the input, the output, the kernel.
  int64_t inAt(const Run &run, int64_t row) const {
    return (run.utterance * time + row) * in + run.group * inEach();
  }
  int64_t outAt(const Run &run, int64_t row) const {
    return (run.utterance * time + row) * out + run.group * outEach();
  }
  int64_t kernelAt(const Run &run, const Tap &tap) const {
    return tap.index * inEach() * out + run.group * outEach();
  }
  int64_t inStride(const Run &run) const {
    return run.overUtterances ? time * in : run.overGroups ? inEach() : 0;
  }
  int64_t outStride(const Run &run) const {
    return run.overUtterances ? time * out : run.overGroups ? outEach() : 0;
  }
  int64_t kernelStride(const Run &run) const {
    return run.overGroups ? outEach() : 0;
  }
};

RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

void forEachRun(const Shape &s, int64_t left,
                llvm::function_ref<void(const Tap &, const Run &)> emit) {
  for (const Tap &tap : getTaps(s.taps, left, s.time))
    for (const Run &run : s.runs(tap))
      emit(tap, run);
}

/// The library's convolution, if the target chose it for this op.
template <typename ConvOp>
LogicalResult callLibrary(PatternRewriter &rewriter, ConvOp op, Value x,
                          Value w, bool transpose) {
  Attribute scratch = op->getAttr(rt::kScratchAttr);
  if (!scratch)
    return failure();
  auto call =
      rt::Conv1dOp::create(rewriter, op.getLoc(), op->getResultTypes(), x, w,
                           rewriter.getI64IntegerAttr(op.getLeft()),
                           transpose ? rewriter.getUnitAttr() : UnitAttr());
  call->setAttr(rt::kScratchAttr, scratch);
  rewriter.replaceOp(op, call);
  return success();
}

struct LowerConv1d : OpRewritePattern<Conv1dOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(Conv1dOp op,
                                PatternRewriter &rewriter) const override {
    if (succeeded(callLibrary(rewriter, op, op.getX(), op.getW(), false)))
      return success();
    Shape s(op.getX(), op.getY(), typeOf(op.getW()), op.getGroups());
    Value y = emitEmpty(rewriter, op.getLoc(), op.getY().getType());
    forEachRun(s, op.getLeft(), [&](const Tap &tap, const Run &run) {
      Product product{run.rows, s.outEach(), s.inEach()};
      product.beta = tap.shift == 0 ? 0 : 1;
      product.batch = run.batch;
      product.lda = s.in, product.ldb = s.out, product.ldc = s.out;
      product.strideA = s.inStride(run);
      product.strideB = s.kernelStride(run);
      product.strideC = s.outStride(run);
      product.offsetA = s.inAt(run, tap.first + tap.shift);
      product.offsetB = s.kernelAt(run, tap);
      product.offsetC = s.outAt(run, tap.first);
      y = emitProduct(rewriter, op.getLoc(), op.getX(), op.getW(), y, product);
    });
    rewriter.replaceOp(op, y);
    return success();
  }
};

struct LowerConv1dInputGrad : OpRewritePattern<Conv1dInputGradOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(Conv1dInputGradOp op,
                                PatternRewriter &rewriter) const override {
    if (succeeded(callLibrary(rewriter, op, op.getDy(), op.getW(), true)))
      return success();
    Shape s(op.getDx(), op.getDy(), typeOf(op.getW()), op.getGroups());
    Value dx = emitEmpty(rewriter, op.getLoc(), op.getDx().getType());
    forEachRun(s, op.getLeft(), [&](const Tap &tap, const Run &run) {
      Product product{run.rows, s.inEach(), s.outEach()};
      product.transposeB = true;
      product.beta = tap.shift == 0 ? 0 : 1;
      product.batch = run.batch;
      product.lda = s.out, product.ldb = s.out, product.ldc = s.in;
      product.strideA = s.outStride(run);
      product.strideB = s.kernelStride(run);
      product.strideC = s.inStride(run);
      product.offsetA = s.outAt(run, tap.first);
      product.offsetB = s.kernelAt(run, tap);
      product.offsetC = s.inAt(run, tap.first + tap.shift);
      dx = emitProduct(rewriter, op.getLoc(), op.getDy(), op.getW(), dx,
                       product);
    });
    rewriter.replaceOp(op, dx);
    return success();
  }
};

struct LowerConv1dFilterGrad : OpRewritePattern<Conv1dFilterGradOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(Conv1dFilterGradOp op,
                                PatternRewriter &rewriter) const override {
    Shape s(op.getX(), op.getDy(), typeOf(op.getDw()), op.getGroups());
    Value dw = op.getAcc();
    if (!dw)
      dw = FullOp::create(rewriter, op.getLoc(), op.getDw().getType(),
                          rewriter.getF64FloatAttr(0));
    forEachRun(s, op.getLeft(), [&](const Tap &tap, const Run &run) {
      Product product{s.inEach(), s.outEach(), run.rows};
      product.transposeA = true;
      product.beta = 1;
      product.batch = run.batch;
      product.lda = s.in, product.ldb = s.out, product.ldc = s.out;
      product.strideA = s.inStride(run);
      product.strideB = s.outStride(run);
      product.strideC = s.kernelStride(run);
      product.offsetA = s.inAt(run, tap.first + tap.shift);
      product.offsetB = s.outAt(run, tap.first);
      product.offsetC = s.kernelAt(run, tap);
      dw = emitProduct(rewriter, op.getLoc(), op.getX(), op.getDy(), dw,
                       product);
    });
    rewriter.replaceOp(op, dw);
    return success();
  }
};
} // namespace

void tts::populateConvolutionPatterns(RewritePatternSet &patterns) {
  patterns.add<LowerConv1d, LowerConv1dInputGrad, LowerConv1dFilterGrad>(
      patterns.getContext());
}
