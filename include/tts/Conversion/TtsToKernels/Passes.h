//===- Passes.h - tts kernels to loops ----------------------*- C++ -*-===//

#ifndef TTS_CONVERSION_TTSTOKERNELS_PASSES_H
#define TTS_CONVERSION_TTSTOKERNELS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace tts {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tts/Conversion/TtsToKernels/Passes.h.inc"

} // namespace tts

#endif // TTS_CONVERSION_TTSTOKERNELS_PASSES_H
