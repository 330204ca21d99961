//===- Training.cpp - what stands for training-only ops in evaluation ----===//
// Dropout is the identity in expectation, so evaluation does without it.

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
