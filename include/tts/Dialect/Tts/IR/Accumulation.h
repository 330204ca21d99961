//===- Accumulation.h - sums that begin anew -------------------*- C++ -*-===//

#ifndef TTS_DIALECT_TTS_IR_ACCUMULATION_H
#define TTS_DIALECT_TTS_IR_ACCUMULATION_H

#include "mlir/IR/Value.h"

namespace tts {

/// `use` reads the sum so far, an argument: what is added to it there becomes
/// the sum. Where an op cannot say so it is added to zero, and without any
/// contribution the sum is zero.
void startAccumulatorAnew(mlir::OpOperand &use);

} // namespace tts

#endif // TTS_DIALECT_TTS_IR_ACCUMULATION_H
