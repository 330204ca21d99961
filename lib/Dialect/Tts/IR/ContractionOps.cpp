//===- ContractionOps.cpp - verifiers of contractions and norms ----------===//

#include "ShapeChecks.h"

using namespace mlir;
using namespace tts;

LogicalResult LinearOp::verify() {
  int64_t rank = getTensor(getX()).getRank();
  if (failed(verifyRank(*this, "x", getX(), 2, 3)) ||
      failed(verifyRank(*this, "y", getY(), rank, rank)) ||
      failed(verifySameElement(*this, "x", getX(), "w", getW())) ||
      failed(verifySameElement(*this, "x", getX(), "y", getY())))
    return failure();
  for (int64_t i = 0; i + 1 < rank; ++i)
    if (failed(verifySameDim(*this, "x", getX(), i, "y", getY(), i)))
      return failure();
  unsigned in = getTranspose() ? 1 : 0;
  if (failed(verifySameDim(*this, "x", getX(), rank - 1, "w", getW(), in)))
    return failure();
  return verifySameDim(*this, "y", getY(), rank - 1, "w", getW(), 1 - in);
}

LogicalResult Conv1dOp::verify() {
  if (failed(verifyRank(*this, "x", getX(), 3, 3)) ||
      failed(verifyRank(*this, "y", getY(), 3, 3)) ||
      failed(verifySameElement(*this, "x", getX(), "w", getW())) ||
      failed(verifySameElement(*this, "x", getX(), "y", getY())) ||
      failed(verifySameDim(*this, "x", getX(), 0, "y", getY(), 0)) ||
      failed(verifySameDim(*this, "x", getX(), 1, "y", getY(), 1)) ||
      failed(verifySameDim(*this, "x", getX(), 2, "w", getW(), 1)) ||
      failed(verifySameDim(*this, "y", getY(), 2, "w", getW(), 2)))
    return failure();
  int64_t taps = getTensor(getW()).getDimSize(0), left = getLeft();
  if (left < 0 || left >= taps)
    return emitOpError() << "'left' is " << left << ", expected one of the "
                         << taps << " taps";
  return success();
}

LogicalResult AttentionOp::verify() {
  if (failed(verifyRank(*this, "q", getQ(), 3, 3)) ||
      failed(verifySameDim(*this, "q", getQ(), 0, "lengths", getLengths(), 0)))
    return failure();
  int64_t channels = getTensor(getQ()).getDimSize(2), heads = getHeads();
  if (heads <= 0 || channels % heads)
    return emitOpError() << channels << " channels do not divide into " << heads
                         << " heads";
  return success();
}

LogicalResult LayerNormOp::verify() {
  int64_t rank = getTensor(getX()).getRank();
  if (failed(verifySameElement(*this, "x", getX(), "gamma", getGamma())) ||
      failed(verifySameElement(*this, "x", getX(), "mean", getMean())) ||
      failed(verifyRank(*this, "mean", getMean(), rank - 1, rank - 1)))
    return failure();
  for (int64_t i = 0; i + 1 < rank; ++i)
    if (failed(verifySameDim(*this, "x", getX(), i, "mean", getMean(), i)))
      return failure();
  return verifySameDim(*this, "x", getX(), rank - 1, "gamma", getGamma(), 0);
}
