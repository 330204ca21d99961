//===- Training.cpp - what stands for training-only ops in evaluation ----===//
// Dropout is the identity in expectation, so evaluation reads its operand.

#include "tts/Dialect/Tts/IR/TtsDialect.h"

mlir::Value tts::DropoutOp::getEvaluationValue() { return getX(); }
