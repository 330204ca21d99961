//===- Recomputable.h - what may be computed twice -----------------------===//

#ifndef TTS_ANALYSIS_RECOMPUTABLE_H
#define TTS_ANALYSIS_RECOMPUTABLE_H

#include "mlir/IR/Operation.h"

namespace tts {

/// The op's clone gives the same results and does nothing else: it has no
/// effect, and overwrites none of its operands.
bool canRecompute(mlir::Operation *op);

/// Views, constants, positions: nobody would store the result, since making it
/// again reads no more than reading it.
bool isFreeToRecompute(mlir::Operation *op);

} // namespace tts

#endif // TTS_ANALYSIS_RECOMPUTABLE_H
