//===- ShapeOps.cpp - verifiers and folds of shape ops --------------------===//

#include "ShapeChecks.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace tts;

/// `small`'s dimension i is `large`'s dimension dims[i], ascending.
static LogicalResult verifyDimMap(Operation *op, StringRef smallName,
                                  Value small, StringRef largeName, Value large,
                                  ArrayRef<int64_t> dims) {
  int64_t rank = getTensor(large).getRank();
  if (static_cast<int64_t>(dims.size()) != getTensor(small).getRank())
    return op->emitOpError()
           << "'dims' has " << dims.size() << " entries, '" << smallName
           << "' has rank " << getTensor(small).getRank();
  for (auto [i, dim] : llvm::enumerate(dims)) {
    if (dim < 0 || dim >= rank || (i && dim <= dims[i - 1]))
      return op->emitOpError() << "'dims' must be ascending dimensions of '"
                               << largeName << "', which has rank " << rank;
    if (failed(verifySameDim(op, smallName, small, i, largeName, large, dim)))
      return failure();
  }
  return success();
}

LogicalResult BroadcastOp::verify() {
  if (failed(verifyDimMap(*this, "x", getX(), "y", getY(), getDims())))
    return failure();
  return verifySameElement(*this, "x", getX(), "y", getY());
}

LogicalResult SumToOp::verify() {
  if (failed(verifyDimMap(*this, "y", getY(), "x", getX(), getDims())) ||
      failed(verifyWideElement(*this, "x", getX(), "y", getY())))
    return failure();
  int64_t rank = getTensor(getX()).getRank();
  bool prefix = getDims().empty() ||
                getDims().back() == static_cast<int64_t>(getDims().size()) - 1;
  bool column = getDims().size() == 1 && getDims()[0] == rank - 1;
  bool overTime = rank == 3 && getDims() == ArrayRef<int64_t>{0, 2};
  if (!prefix && !column && !overTime)
    return emitOpError("keeps leading dimensions, the last one, the first and "
                       "the last of three, or none");
  if (getAcc() && getAcc().getType() != getY().getType())
    return emitOpError("'acc' must have the result's type");
  return success();
}

/// `whole`'s last dimension is that of `parts` together; the others agree.
static LogicalResult verifyParts(Operation *op, Value whole, ValueRange parts) {
  if (parts.empty())
    return op->emitOpError("has no parts");
  int64_t rank = getTensor(whole).getRank(), together = 0;
  for (Value part : parts) {
    if (failed(verifyRank(op, "part", part, rank, rank)) ||
        failed(verifySameElement(op, "part", part, "whole", whole)))
      return failure();
    for (int64_t i = 0; i + 1 < rank; ++i)
      if (failed(verifySameDim(op, "part", part, i, "whole", whole, i)))
        return failure();
    if (getTensor(part).isDynamicDim(rank - 1))
      return op->emitOpError("parts have a last dimension of known size");
    together += getTensor(part).getDimSize(rank - 1);
  }
  if (together != getTensor(whole).getDimSize(rank - 1))
    return op->emitOpError() << "parts have " << together
                             << " channels together, the whole tensor has "
                             << getTensor(whole).getDimSize(rank - 1);
  return success();
}

LogicalResult ConcatOp::verify() {
  return verifyParts(*this, getY(), getParts());
}

LogicalResult SplitOp::verify() {
  return verifyParts(*this, getX(), getParts());
}

LogicalResult SinusoidAtOp::verify() {
  return verifySameDim(*this, "x", getX(), 0, "y", getY(), 0);
}

/// `large` is `small` with a dimension of size 1 at `dim`.
static LogicalResult verifyUnitDim(Operation *op, Value small, Value large,
                                   int64_t dim) {
  int64_t rank = getTensor(large).getRank();
  if (dim < 0 || dim >= rank || getTensor(small).getRank() + 1 != rank ||
      getTensor(large).getDimSize(dim) != 1)
    return op->emitOpError() << "dimension " << dim
                             << " of the larger shape must exist with size 1";
  for (int64_t i = 0, j = 0; i < rank; ++i)
    if (i != dim &&
        failed(verifySameDim(op, "small", small, j++, "large", large, i)))
      return failure();
  return verifySameElement(op, "x", small, "y", large);
}

LogicalResult SqueezeOp::verify() {
  return verifyUnitDim(*this, getY(), getX(), getDim());
}

LogicalResult UnsqueezeOp::verify() {
  return verifyUnitDim(*this, getX(), getY(), getDim());
}

LogicalResult MaskOp::verify() {
  return verifyTimed(*this, "x", getX(), "lengths", getLengths());
}

namespace {
/// A mask by the same lengths twice is once.
struct MaskOfMask : OpRewritePattern<MaskOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MaskOp op,
                                PatternRewriter &rewriter) const override {
    auto inner = op.getX().getDefiningOp<MaskOp>();
    if (!inner || inner.getLengths() != op.getLengths())
      return failure();
    rewriter.replaceOp(op, inner.getY());
    return success();
  }
};
} // namespace

void MaskOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                         MLIRContext *context) {
  patterns.add<MaskOfMask>(context);
}

LogicalResult EmbeddingOp::verify() {
  int64_t rank = getTensor(getIds()).getRank();
  if (failed(verifyRank(*this, "y", getY(), rank + 1, rank + 1)))
    return failure();
  for (int64_t i = 0; i < rank; ++i)
    if (failed(verifySameDim(*this, "ids", getIds(), i, "y", getY(), i)))
      return failure();
  if (failed(verifyWideElement(*this, "y", getY(), "table", getTable())))
    return failure();
  return verifySameDim(*this, "table", getTable(), 1, "y", getY(), rank);
}

LogicalResult RotaryOp::verify() {
  if (failed(verifyRank(*this, "x", getX(), 3, 4)) ||
      failed(verifySameDim(*this, "x", getX(), 1, "table", getTable(), 0)))
    return failure();
  RankedTensorType type = getTensor(getX());
  int64_t channels = type.getShape().back(), heads = getHeads(),
          depth = getTensor(getTable()).getDimSize(1);
  if (heads <= 0 || (type.getRank() == 4 && heads != 1))
    return emitOpError() << "'heads' is " << heads
                         << ", expected 1 where heads are a dimension of 'x', "
                            "else at least 1";
  if (depth % 2 || depth * heads != channels)
    return emitOpError() << "'table' has " << depth << " channels, 'x' has "
                         << channels << " for " << heads
                         << " heads; expected one even number per head";
  return success();
}

LogicalResult BucketizeOp::verify() {
  int64_t rank = getTensor(getX()).getRank();
  if (failed(verifyRank(*this, "ids", getIds(), rank, rank)))
    return failure();
  for (int64_t i = 0; i < rank; ++i)
    if (failed(verifySameDim(*this, "x", getX(), i, "ids", getIds(), i)))
      return failure();
  return verifySameElement(*this, "x", getX(), "boundaries", getBoundaries());
}

LogicalResult LengthRegulateOp::verify() {
  if (failed(verifyRank(*this, "x", getX(), 3, 3)) ||
      failed(verifyRank(*this, "y", getY(), 3, 3)) ||
      failed(verifySameElement(*this, "x", getX(), "y", getY())) ||
      failed(verifySameDim(*this, "x", getX(), 0, "y", getY(), 0)) ||
      failed(verifySameDim(*this, "x", getX(), 2, "y", getY(), 2)) ||
      failed(
          verifySameDim(*this, "x", getX(), 0, "durations", getDurations(), 0)))
    return failure();
  return verifySameDim(*this, "x", getX(), 1, "durations", getDurations(), 1);
}

LogicalResult DropoutOp::verify() {
  double rate = getRate().convertToDouble();
  if (!(rate >= 0 && rate < 1))
    return emitOpError() << "'rate' must lie in [0, 1), found " << rate;
  if (getStream().empty())
    return emitOpError("'stream' must name the op's own random stream");
  return verifyTimed(*this, "x", getX(), "utterances", getUtterances());
}

OpFoldResult DropoutOp::fold(FoldAdaptor) {
  return getRate().isZero() ? getX() : OpFoldResult();
}
