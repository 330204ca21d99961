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

void LinearCrossEntropyOp::buildAdjoint(OpBuilder &builder, ValueRange dsum,
                                        SmallVectorImpl<Value> &d) {
  if (!dsum[0])
    return; // nothing but the gradient reads lse
  GradientBuilder g(builder, *this);
  auto gradients = g.makeOp<LinearCrossEntropyGradOp>(
      getW().getType(), getX().getType(), getX(), getW(), getTargets(),
      getLengths(), getLse(), dsum[0], Value(), getIgnoreIndexAttr());
  d[0] = gradients.getDx();
  d[1] = gradients.getDw();
}

void MseLossOp::buildAdjoint(OpBuilder &builder, ValueRange dsum,
                             SmallVectorImpl<Value> &d) {
  GradientBuilder g(builder, *this);
  d[0] = g.make<MseLossGradOp>(getPrediction(), getPrediction(), getTarget(),
                               getLengths(), dsum[0]);
}
