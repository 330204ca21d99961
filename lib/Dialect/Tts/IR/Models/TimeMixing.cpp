//===- TimeMixing.cpp - operands that are read across time ---------------===//
// What stands in the padding of these operands would leak into valid steps.

#include "tts/Dialect/Tts/IR/TtsDialect.h"

llvm::SmallVector<unsigned> tts::Conv1dOp::getTimeMixedOperands() {
  return {getXMutable().getOperandNumber()};
}

llvm::SmallVector<unsigned> tts::LengthRegulateOp::getTimeMixedOperands() {
  return {getXMutable().getOperandNumber()};
}

llvm::SmallVector<unsigned> tts::DepthwiseConv1dOp::getTimeMixedOperands() {
  return {getXMutable().getOperandNumber()};
}

llvm::SmallVector<unsigned> tts::TimeNormOp::getTimeMixedOperands() {
  return {getXMutable().getOperandNumber()};
}
