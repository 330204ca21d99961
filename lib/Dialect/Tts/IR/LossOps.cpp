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
