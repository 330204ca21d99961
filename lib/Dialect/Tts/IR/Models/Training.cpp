//===- Training.cpp - what stands for training-only ops in evaluation ----===//
// Dropout is the identity in expectation, so evaluation does without it. Noise
// that a model is evaluated with stays, drawn for no update.

#include "tts/Dialect/Tts/IR/TtsDialect.h"

using namespace mlir;
using namespace tts;

SmallVector<Value> DropoutOp::getEvaluationOperands() { return {getX()}; }
Value DropoutOp::buildEvaluation(OpBuilder &, ValueRange operands) {
  return operands[0];
}

bool AttentionOp::actsInTrainingOnly() { return bool(getDraw()); }
SmallVector<Value> AttentionOp::getEvaluationOperands() {
  return {getQ(), getK(), getV(), getLengths()};
}
Value AttentionOp::buildEvaluation(OpBuilder &builder, ValueRange operands) {
  return AttentionOp::create(builder, getLoc(), operands[0].getType(),
                             operands[0], operands[1], operands[2], operands[3],
                             Value(), Value(), getHeadsAttr(), getCausalAttr(),
                             FloatAttr(), StringAttr());
}

bool NormalOp::actsInTrainingOnly() { return bool(getDraw()); }
SmallVector<Value> NormalOp::getEvaluationOperands() {
  return {getUtterances()};
}
Value NormalOp::buildEvaluation(OpBuilder &builder, ValueRange operands) {
  return NormalOp::create(builder, getLoc(), getType(), operands[0], Value(),
                          getStreamAttr());
}

bool UniformOp::actsInTrainingOnly() { return bool(getDraw()); }
SmallVector<Value> UniformOp::getEvaluationOperands() {
  return {getUtterances()};
}
Value UniformOp::buildEvaluation(OpBuilder &builder, ValueRange operands) {
  return UniformOp::create(builder, getLoc(), getType(), operands[0], Value(),
                           getStreamAttr());
}

bool SpanMaskOp::actsInTrainingOnly() { return bool(getDraw()); }
SmallVector<Value> SpanMaskOp::getEvaluationOperands() {
  return {getLengths(), getUtterances()};
}
Value SpanMaskOp::buildEvaluation(OpBuilder &builder, ValueRange operands) {
  return SpanMaskOp::create(builder, getLoc(), getType(), operands[0],
                            operands[1], Value(), getLowAttr(), getHighAttr(),
                            getStreamAttr());
}

SmallVector<Value> CoinOp::getEvaluationOperands() { return {}; }
Value CoinOp::buildEvaluation(OpBuilder &builder, ValueRange) {
  return FullOp::create(builder, getLoc(), getType(),
                        builder.getF64FloatAttr(1));
}
