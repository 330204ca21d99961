//===- DerivativesContraction.cpp - derivatives of contractions ----------===//
// Matmuls, convolutions and attention: each operand's gradient is again a
// contraction of the result's gradient with the other operand.

#include "GradientBuilder.h"

using namespace mlir;
using namespace tts;

void LinearOp::buildAdjoint(OpBuilder &builder, ValueRange dy,
                            SmallVectorImpl<Value> &d) {
  GradientBuilder g(builder, *this);
  auto flipped = getTranspose() ? UnitAttr() : builder.getUnitAttr();
  d[0] = g.make<LinearOp>(getX(), dy[0], getW(), flipped);
  // w is [in, out], with `transpose` [out, in].
  d[1] = getTranspose() ? g.make<WeightGradOp>(getW(), dy[0], getX(), Value())
                        : g.make<WeightGradOp>(getW(), getX(), dy[0], Value());
}

void Conv1dOp::buildAdjoint(OpBuilder &builder, ValueRange dy,
                            SmallVectorImpl<Value> &d) {
  GradientBuilder g(builder, *this);
  d[0] = g.make<Conv1dInputGradOp>(getX(), dy[0], getW(), getLeftAttr(),
                                   getGroupsAttr());
  d[1] = g.make<Conv1dFilterGradOp>(getW(), getX(), dy[0], getLeftAttr(),
                                    getGroupsAttr(), Value());
}

void DepthwiseConv1dOp::buildAdjoint(OpBuilder &builder, ValueRange dy,
                                     SmallVectorImpl<Value> &d) {
  GradientBuilder g(builder, *this);
  auto flipped = getTransposed() ? UnitAttr() : builder.getUnitAttr();
  d[0] =
      g.make<DepthwiseConv1dOp>(getX(), dy[0], getW(), getLeftAttr(), flipped);
  // Transposed, y and x have changed places.
  Value x = getTransposed() ? dy[0] : Value(getX());
  Value y = getTransposed() ? Value(getX()) : dy[0];
  d[1] =
      g.make<DepthwiseConv1dFilterGradOp>(getW(), x, y, getLeftAttr(), Value());
}

void AttentionOp::buildAdjoint(OpBuilder &builder, ValueRange dy,
                               SmallVectorImpl<Value> &d) {
  GradientBuilder g(builder, *this);
  Type queries = getQ().getType(), keys = getK().getType();
  auto gradients = g.makeOp<AttentionGradOp>(
      queries, keys, keys, dy[0], getQ(), getK(), getV(), getLengths(),
      getUtterances(), getDraw(), getHeadsAttr(), getCausalAttr(),
      getRateAttr(), getStreamAttr());
  d[0] = gradients.getDq();
  d[1] = gradients.getDk();
  d[2] = gradients.getDv();
}
