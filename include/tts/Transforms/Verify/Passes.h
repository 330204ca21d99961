//===- Passes.h - the checker of every phase's contract ------------------===//

#ifndef TTS_TRANSFORMS_VERIFY_PASSES_H
#define TTS_TRANSFORMS_VERIFY_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace tts {

#define GEN_PASS_DECL
#include "tts/Transforms/Verify/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "tts/Transforms/Verify/Passes.h.inc"

} // namespace tts

#endif // TTS_TRANSFORMS_VERIFY_PASSES_H
