//===- Passes.h - passes of the Update stage ------------------------------===//

#ifndef TTS_TRANSFORMS_UPDATE_PASSES_H
#define TTS_TRANSFORMS_UPDATE_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace tts {
#define GEN_PASS_DECL
#include "tts/Transforms/Update/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "tts/Transforms/Update/Passes.h.inc"
} // namespace tts

#endif // TTS_TRANSFORMS_UPDATE_PASSES_H
