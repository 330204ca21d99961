//===- LossOps.cpp - verifiers of losses ----------------------------------===//

#include "ShapeChecks.h"

using namespace mlir;
using namespace tts;

template <typename LossOp> static LogicalResult verifyLoss(LossOp op) {
  if (failed(verifySameElement(op, "prediction", op.getPrediction(), "sum",
                               op.getSum())))
    return failure();
  return verifyTimed(op, "prediction", op.getPrediction(), "lengths",
                     op.getLengths());
}

LogicalResult L1LossOp::verify() { return verifyLoss(*this); }
LogicalResult MseLossOp::verify() { return verifyLoss(*this); }

/// One target per step of the utterances that `lengths` tells of.
template <typename OpT> static LogicalResult verifyTargets(OpT op) {
  return verifySameDim(op, "targets", op.getTargets(), 0, "lengths",
                       op.getLengths(), 0);
}

LogicalResult CountTargetsOp::verify() { return verifyTargets(*this); }

LogicalResult LinearCrossEntropyOp::verify() {
  if (failed(verifyRank(*this, "x", getX(), 3, 3)) ||
      failed(verifySameElement(*this, "x", getX(), "w", getW())) ||
      failed(verifySameDim(*this, "x", getX(), 2, "w", getW(), 0)))
    return failure();
  for (unsigned dim : {0, 1})
    if (failed(verifySameDim(*this, "x", getX(), dim, "targets", getTargets(),
                             dim)) ||
        failed(verifySameDim(*this, "x", getX(), dim, "lse", getLse(), dim)))
      return failure();
  return verifyTargets(*this);
}
