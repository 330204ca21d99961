//===- Passes.h - passes of the Specialize stage --------------------------===//

#ifndef TTS_TRANSFORMS_SPECIALIZE_PASSES_H
#define TTS_TRANSFORMS_SPECIALIZE_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace tts {
#define GEN_PASS_DECL
#include "tts/Transforms/Specialize/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "tts/Transforms/Specialize/Passes.h.inc"
} // namespace tts

#endif // TTS_TRANSFORMS_SPECIALIZE_PASSES_H
