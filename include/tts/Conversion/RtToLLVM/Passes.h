//===- Passes.h - programs to the constant step table -------*- C++ -*-===//

#ifndef TTS_CONVERSION_RTTOLLVM_PASSES_H
#define TTS_CONVERSION_RTTOLLVM_PASSES_H

#include "mlir/Pass/Pass.h"

namespace tts {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tts/Conversion/RtToLLVM/Passes.h.inc"

} // namespace tts

#endif // TTS_CONVERSION_RTTOLLVM_PASSES_H
