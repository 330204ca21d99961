//===- Passes.h - passes of the Partition stage --------------*- C++ -*-===//

#ifndef TTS_TRANSFORMS_PARTITION_PASSES_H
#define TTS_TRANSFORMS_PARTITION_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace tts {
#define GEN_PASS_DECL
#include "tts/Transforms/Partition/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "tts/Transforms/Partition/Passes.h.inc"
} // namespace tts

#endif // TTS_TRANSFORMS_PARTITION_PASSES_H
