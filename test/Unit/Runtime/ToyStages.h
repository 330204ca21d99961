//===- ToyStages.h - a toy model over pipeline stages ---------------------===//
//
// Four layers h' = h · scale + bias over mel (F32 [frames, 2]), then the loss
// "mel" = Σ over valid frames (h − mel/2)²; the loss "phone" = Σ over valid
// phones (mean − phone)² on the first stage. Any number of stages that divides
// the layers runs the same kernels on the same numbers, so that a pipeline's
// curve is that of one rank. AdamW with EMA.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_TEST_RUNTIME_TOYSTAGES_H
#define TTS_TEST_RUNTIME_TOYSTAGES_H

#include "ToyModel.h"

namespace tts::test {

constexpr int toyLayers = 4;

struct ToyStagesOptions {
  int batch = 6;
  int threads = 1;
  std::vector<ToyBucket> buckets = {{2, 4}, {2, 8}, {1, 16}};
  int stages = 1, stage = 0, replicas = 1;
  int mostSlots = 99;
  /// A planted fault: all slots have one place for what waits for backward.
  bool sharesStash = false;
};

/// The table of one stage.
Toy makeToyStage(const ToyStagesOptions &options = {});

} // namespace tts::test

#endif // TTS_TEST_RUNTIME_TOYSTAGES_H
