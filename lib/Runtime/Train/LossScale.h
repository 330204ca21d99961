//===- LossScale.h - keeps fp16's gradients in range ----------------------===//
//
// Losses are multiplied by a scale, so that small gradients do not round to 0,
// and the update divides by it. Where a gradient overflows, the update is run
// again with half the scale: its utterances, its draws and its number stay, and
// so neither a schedule nor the data moves on.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_RUNTIME_TRAIN_LOSSSCALE_H
#define TTS_RUNTIME_TRAIN_LOSSSCALE_H

#include "Runtime/Train/Update.h"

namespace tts::rt {

struct LossScale {
  bool enabled = false;    ///< else 1, for ever
  double value = 65536;    ///< a power of two: scaling rounds nothing
  int64_t interval = 2000; ///< updates in a row without overflow that double it
  int64_t since = 0;       ///< such updates since it last changed

  static constexpr double floor = 1, most = 16777216;

  double used() const { return enabled ? value : 1; }
  /// After an overflow; false at the floor, where scaling is not to blame.
  bool shrink();
  /// After an update that went well.
  void grow();
};

/// Whether the model's update divides by a loss scale.
bool hasLossScale(const Model &model);

/// Runs an update, again after every overflow that a smaller scale may mend;
/// returns how many tries were skipped. `result` is not finite where none was
/// left. `scalars` gets the last try's scale.
int64_t runScaledUpdate(Model &model, const MicroBatches &batches,
                        UpdateScalars &scalars, UpdateResult &result,
                        LossScale &scale);

} // namespace tts::rt

#endif // TTS_RUNTIME_TRAIN_LOSSSCALE_H
