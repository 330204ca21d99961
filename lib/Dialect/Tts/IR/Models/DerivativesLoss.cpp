//===- DerivativesLoss.cpp - derivatives of losses -----------------------===//
// A loss is differentiated with respect to its prediction; targets come from
// the data and lengths are integers.

#include "GradientBuilder.h"

using namespace mlir;
using namespace tts;

void L1LossOp::buildAdjoint(OpBuilder &builder, ValueRange dsum,
                            SmallVectorImpl<Value> &d) {
  GradientBuilder g(builder, *this);
  d[0] = g.make<L1LossGradOp>(getPrediction(), getPrediction(), getTarget(),
                              getLengths(), dsum[0]);
}

void MseLossOp::buildAdjoint(OpBuilder &builder, ValueRange dsum,
                             SmallVectorImpl<Value> &d) {
  GradientBuilder g(builder, *this);
  d[0] = g.make<MseLossGradOp>(getPrediction(), getPrediction(), getTarget(),
                               getLengths(), dsum[0]);
}
