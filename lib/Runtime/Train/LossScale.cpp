//===- LossScale.cpp - keeps fp16's gradients in range --------------------===//

#include "Runtime/Train/LossScale.h"
#include <algorithm>

namespace tts::rt {

bool LossScale::shrink() {
  if (!enabled || value <= floor)
    return false;
  value = std::max(floor, value / 2);
  since = 0;
  return true;
}

void LossScale::grow() {
  if (!enabled || ++since < interval)
    return;
  value = std::min(most, value * 2);
  since = 0;
}

bool hasLossScale(const Model &model) {
  return model.inverseLossScale != nullptr;
}

int64_t runScaledUpdate(Model &model, const MicroBatches &batches,
                        UpdateScalars &scalars, UpdateResult &result,
                        LossScale &scale) {
  for (int64_t skipped = 0;; ++skipped) {
    scalars.lossScale = scale.used();
    runUpdate(model, batches, scalars, result);
    if (result.finite) {
      scale.grow();
      return skipped;
    }
    if (!scale.shrink())
      return skipped;
  }
}

} // namespace tts::rt
