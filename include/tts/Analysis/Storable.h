//===- Storable.h - what may be kept in half a number's bytes ---*- C++ -*-===//

#ifndef TTS_ANALYSIS_STORABLE_H
#define TTS_ANALYSIS_STORABLE_H

#include "mlir/IR/Value.h"

namespace tts {

/// A value of forward that may be rounded to a half type until backward reads
/// it: an f32 activation, so neither what mixed precision has in f32
/// (statistics, sums, losses) nor a view, whose source is kept.
bool canStoreHalf(mlir::OpResult value);

/// Something, perhaps behind a view, takes the value in f32 in mixed precision,
/// too: a loss, whose gradient may be a sign, or an exponential.
bool isReadInFull(mlir::Value value);

} // namespace tts

#endif // TTS_ANALYSIS_STORABLE_H
