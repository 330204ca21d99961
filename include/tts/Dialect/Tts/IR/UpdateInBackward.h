//===- UpdateInBackward.h - where parameters are updated ------------------===//

#ifndef TTS_DIALECT_TTS_IR_UPDATEINBACKWARD_H
#define TTS_DIALECT_TTS_IR_UPDATEINBACKWARD_H

#include "llvm/ADT/StringRef.h"

namespace tts {

/// Unit, on the module beside `tts.plan`; set by Plan: each parameter is
/// updated in backward as soon as its gradient is final.
inline constexpr llvm::StringLiteral kUpdateInBackwardAttr =
    "tts.update_in_backward";

} // namespace tts

#endif // TTS_DIALECT_TTS_IR_UPDATEINBACKWARD_H
