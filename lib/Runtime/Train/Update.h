//===- Update.h - one optimizer update -----------------------------------===//
//
// zero; denominators of all micro-batches; loss weights; forward and backward
// of all micro-batches; update. A loss is divided by its denominator over the
// whole update, never by a micro-batch's. Where backward updates the parameters
// there is one micro-batch, neither zero nor update, and no backward at all on
// a loss that is not finite.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_RUNTIME_TRAIN_UPDATE_H
#define TTS_RUNTIME_TRAIN_UPDATE_H

#include "Runtime/Train/Model.h"
#include <functional>

namespace tts::rt {

/// Where the micro-batches of an update come from: the loader or a caller.
struct MicroBatches {
  const uint32_t *buckets = nullptr; ///< bucket of each
  size_t count = 0;
  /// Writes micro-batch i into its bucket's inputs. Called twice for each,
  /// three times in a pipeline stage.
  std::function<void(size_t i)> load;
  /// Told after each forward and backward; may be empty.
  std::function<void(size_t done)> progress;
  /// Where the groups end that are summed apart; null: they are one.
  const std::vector<size_t> *groupEnds = nullptr;

  size_t groups() const { return groupEnds ? groupEnds->size() : 1; }
  size_t groupEnd(size_t g) const {
    return groupEnds ? (*groupEnds)[g] : count;
  }
};

struct UpdateScalars {
  uint64_t seed = 0;
  int64_t update = 1; ///< number of this update, from 1
  double lr = 0;
  double weightDecay = 0;
  double lossScale = 1; ///< of fp16; 1 where the model has none
};

struct UpdateResult {
  explicit UpdateResult(const Model &model)
      : losses(model.losses.size()), denominators(model.losses.size()),
        ofGroups(model.losses.size() * size_t(model.manifest.groups)) {}

  double loss = 0;                  ///< sum of coefficient · sum / denominator
  std::vector<double> losses;       ///< sum / denominator, in double
  std::vector<double> denominators; ///< over the whole update
  std::vector<double> ofGroups;     ///< room for sums: group × loss
  double gradNorm = 0;              ///< before clipping
  /// False: weights, moments and EMA are as before; but where backward updates
  /// them and the loss is finite, they are spoilt.
  bool finite = true;

  bool hasSpoiltWeights(const Model &model) const;
};

/// Writes draw = {seed, update - 1}.
void setDraw(Model &model, uint64_t seed, int64_t update);

/// Writes loss_weight = scale · coefficient / denominator, 0 for a denominator
/// of 0.
void setLossWeights(Model &model, const std::vector<double> &denominators,
                    double scale = 1);

/// Writes the optimizer's scalars.
void setOptimizer(Model &model, const UpdateScalars &scalars);

/// With a world the micro-batches are this rank's, losses and denominators
/// those of all.
void runUpdate(Model &model, const MicroBatches &batches,
               const UpdateScalars &scalars, UpdateResult &result);

} // namespace tts::rt

#endif // TTS_RUNTIME_TRAIN_UPDATE_H
