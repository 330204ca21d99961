//===- Passes.h - the Differentiate stage --------------------------------===//

#ifndef TTS_TRANSFORMS_DIFFERENTIATE_PASSES_H
#define TTS_TRANSFORMS_DIFFERENTIATE_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"

namespace tts {

#define GEN_PASS_DECL
#include "tts/Transforms/Differentiate/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "tts/Transforms/Differentiate/Passes.h.inc"

/// insert-masks, differentiate and the clean-up around them, on a module. The
/// contract is checked by the caller (a stage knows no other stage).
void buildDifferentiatePipeline(mlir::OpPassManager &manager);

/// `tts-differentiate-pipeline`.
void registerDifferentiatePipelines();

} // namespace tts

#endif // TTS_TRANSFORMS_DIFFERENTIATE_PASSES_H
