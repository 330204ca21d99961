//===- Passes.h - passes of the Memory stage --------------------------===//

#ifndef TTS_TRANSFORMS_MEMORY_PASSES_H
#define TTS_TRANSFORMS_MEMORY_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "tts/Dialect/Rt/IR/RtDialect.h"

namespace tts {
#define GEN_PASS_DECL
#include "tts/Transforms/Memory/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "tts/Transforms/Memory/Passes.h.inc"
} // namespace tts

#endif // TTS_TRANSFORMS_MEMORY_PASSES_H
