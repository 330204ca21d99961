//===- NormOps.cpp - verifiers of normalisations --------------------------===//

#include "ShapeChecks.h"

using namespace mlir;
using namespace tts;

/// A statistic per row of `x`, and one number of `gamma` per channel.
template <typename OpT>
static LogicalResult verifyNorm(OpT op, StringRef name, Value statistic) {
  int64_t rank = getTensor(op.getX()).getRank();
  if (failed(verifyWideElement(op, "x", op.getX(), "gamma", op.getGamma())) ||
      failed(verifyWideElement(op, "x", op.getX(), name, statistic)) ||
      failed(verifyRank(op, name, statistic, rank - 1, rank - 1)))
    return failure();
  for (int64_t i = 0; i + 1 < rank; ++i)
    if (failed(verifySameDim(op, "x", op.getX(), i, name, statistic, i)))
      return failure();
  return verifySameDim(op, "x", op.getX(), rank - 1, "gamma", op.getGamma(), 0);
}

LogicalResult LayerNormOp::verify() {
  return verifyNorm(*this, "mean", getMean());
}
LogicalResult RmsNormOp::verify() {
  return verifyNorm(*this, "rstd", getRstd());
}
