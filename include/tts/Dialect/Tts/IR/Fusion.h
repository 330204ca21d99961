//===- Fusion.h - what may share a kernel ----------------------*- C++ -*-===//

#ifndef TTS_DIALECT_TTS_IR_FUSION_H
#define TTS_DIALECT_TTS_IR_FUSION_H

#include "mlir/IR/OpDefinition.h"
#include "llvm/ADT/SmallVector.h"

namespace tts {

/// Whether one element of each result reads one element of each operand.
bool isElementwise(mlir::Operation *op);

/// Gives the dialect's ops their rules; called once per context.
void attachFusionRules(mlir::MLIRContext &context);

} // namespace tts

#include "tts/Dialect/Tts/IR/FusionInterfaces.h.inc"

#endif // TTS_DIALECT_TTS_IR_FUSION_H
