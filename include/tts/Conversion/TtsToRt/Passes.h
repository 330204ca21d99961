//===- Passes.h - Select
//---------------------------------------------------===//

#ifndef TTS_CONVERSION_TTSTORT_PASSES_H
#define TTS_CONVERSION_TTSTORT_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "tts/Dialect/Rt/IR/RtDialect.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"

namespace tts {
#define GEN_PASS_DECL
#include "tts/Conversion/TtsToRt/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "tts/Conversion/TtsToRt/Passes.h.inc"
} // namespace tts

#endif // TTS_CONVERSION_TTSTORT_PASSES_H
