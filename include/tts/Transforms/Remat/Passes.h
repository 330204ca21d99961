//===- Passes.h - passes of the Remat stage ------------------------------===//

#ifndef TTS_TRANSFORMS_REMAT_PASSES_H
#define TTS_TRANSFORMS_REMAT_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace tts {
#define GEN_PASS_DECL
#include "tts/Transforms/Remat/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "tts/Transforms/Remat/Passes.h.inc"
} // namespace tts

#endif // TTS_TRANSFORMS_REMAT_PASSES_H
