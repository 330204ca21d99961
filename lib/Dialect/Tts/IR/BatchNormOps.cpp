//===- BatchNormOps.cpp - verifiers of batch normalisation ---------------===//

#include "ShapeChecks.h"

using namespace mlir;
using namespace tts;

/// `x` is [batch, time, channel] and `vector` has one number per channel.
static LogicalResult verifyPerChannel(Operation *op, Value x, StringRef name,
                                      Value vector) {
  if (failed(verifyRank(op, "x", x, 3, 3)))
    return failure();
  return verifySameDim(op, "x", x, 2, name, vector, 0);
}

/// An attribute lies in (0, 1].
static LogicalResult verifyShare(Operation *op, StringRef name, APFloat value) {
  double number = value.convertToDouble();
  if (number > 0 && number <= 1)
    return success();
  return op->emitOpError() << "'" << name << "' must lie in (0, 1], found "
                           << number;
}

LogicalResult BatchNormOp::verify() {
  if (failed(verifyPerChannel(*this, getX(), "gamma", getGamma())) ||
      failed(verifyTimed(*this, "x", getX(), "lengths", getLengths())) ||
      failed(verifyShare(*this, "epsilon", getEpsilon())))
    return failure();
  return verifyShare(*this, "momentum", getMomentum());
}

LogicalResult BatchStatisticsOp::verify() {
  if (failed(verifyPerChannel(*this, getX(), "mean", getMean())) ||
      failed(verifyTimed(*this, "x", getX(), "lengths", getLengths())))
    return failure();
  return verifyShare(*this, "epsilon", getEpsilon());
}

LogicalResult BatchNormalizeOp::verify() {
  return verifyPerChannel(*this, getX(), "mean", getMean());
}
