//===- Passes.h - passes that call whole phases --------------*- C++ -*-===//

#ifndef TTS_PIPELINES_PASSES_H
#define TTS_PIPELINES_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace tts {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tts/Pipelines/Passes.h.inc"

} // namespace tts

#endif // TTS_PIPELINES_PASSES_H
