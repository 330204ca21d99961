//===- RandomOps.cpp - verifiers of draws ---------------------------------===//

#include "ShapeChecks.h"

using namespace mlir;
using namespace tts;

static LogicalResult verifyStream(Operation *op, StringRef stream) {
  if (stream.empty())
    return op->emitOpError("'stream' must name the op's own random stream");
  return success();
}

LogicalResult NormalOp::verify() {
  if (failed(verifyStream(*this, getStream())))
    return failure();
  return verifyTimed(*this, "y", getY(), "utterances", getUtterances());
}

LogicalResult UniformOp::verify() {
  if (failed(verifyStream(*this, getStream())))
    return failure();
  return verifySameDim(*this, "y", getY(), 0, "utterances", getUtterances(), 0);
}

LogicalResult SpanMaskOp::verify() {
  double low = getLow().convertToDouble(), high = getHigh().convertToDouble();
  if (!(low >= 0 && low <= high && high <= 1))
    return emitOpError() << "a span has a share of [0, 1], found [" << low
                         << ", " << high << "]";
  if (failed(verifyStream(*this, getStream())) ||
      failed(verifySameDim(*this, "y", getY(), 0, "lengths", getLengths(), 0)))
    return failure();
  return verifySameDim(*this, "y", getY(), 0, "utterances", getUtterances(), 0);
}

LogicalResult CoinOp::verify() {
  double rate = getRate().convertToDouble();
  if (!(rate >= 0 && rate < 1))
    return emitOpError() << "'rate' must lie in [0, 1), found " << rate;
  return verifyStream(*this, getStream());
}
