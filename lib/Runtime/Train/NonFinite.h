//===- NonFinite.h - the first non-finite tensor of an update ------------===//
//
// When an update is refused because its loss or gradient norm is not finite, it
// is run once more, entry by entry, and what each entry has written is looked
// at. Draws are counted, sums are ordered and no weight has changed, so the
// second run is the first.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_RUNTIME_TRAIN_NONFINITE_H
#define TTS_RUNTIME_TRAIN_NONFINITE_H

#include "Runtime/Train/Update.h"

namespace tts::rt {

/// A NaN or an infinity: where, and which entry met it. Names are the table's.
struct NonFinite {
  explicit operator bool() const { return tensor != nullptr; }
  /// "first non-finite tensor: 'x' written by rt.gemm (m.mlir:1:2), …".
  std::string text() const;

  const char *tensor = nullptr; ///< null: none was found
  const char *function = nullptr, *entry = nullptr, *location = nullptr;
  /// It came into the step so, and the entry is the first that it spoilt.
  bool wasRead = false;
  uint64_t element = 0, elements = 0; ///< of the tensor's bytes in the arena
  double value = 0;
};

/// Runs a refused update again up to the first entry that writes a value that
/// is not finite. Leaves gradients and activations half done; weights, moments
/// and EMA are not touched. Only for an update that has not spoilt them.
NonFinite findNonFinite(Model &model, const MicroBatches &batches,
                        const UpdateScalars &scalars);

} // namespace tts::rt

#endif // TTS_RUNTIME_TRAIN_NONFINITE_H
