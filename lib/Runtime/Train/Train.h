//===- Train.h - a whole run ---------------------------------------------===//
//
// Bring-up, the loop over updates with validation, checkpoints and metrics,
// and the final line.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_RUNTIME_TRAIN_TRAIN_H
#define TTS_RUNTIME_TRAIN_TRAIN_H

#include "Runtime/Train/Checkpoint.h"
#include "Runtime/Train/Evaluate.h"
#include "Runtime/Train/Metrics.h"
#include "Runtime/Train/Options.h"
#include "Runtime/Train/Progress.h"
#include "Runtime/Train/Replicas.h"
#include "Runtime/Train/Schedule.h"
#include "Runtime/Train/Update.h"
#include <memory>

namespace tts::rt {

/// One training run of the linked model.
class Run {
public:
  /// Reads the corpus index, commits the arena and sets the weights. After it
  /// nothing large is allocated.
  Run(const Options &options, const void *blob, const TtsKernel *kernels,
      World &world);

  /// Trains to the last update, or evaluates, as the options say. Throws Error
  /// for every other end.
  void run();

private:
  void restore();
  void train();
  void evaluateOnly();
  void dumpOrder();
  void oneUpdate();
  std::vector<FinalMetrics> gatherFigures();
  void validate();
  void save();
  void finish();
  [[noreturn]] void stopNonFinite(const HostBatch &batch,
                                  const MicroBatches &micro,
                                  const UpdateScalars &scalars);
  std::string firstNonFinite() const;

  Options options;
  World &world;
  Corpus corpus;
  Model model;
  RunState state;
  Schedule schedule;
  std::unique_ptr<Checkpoints> checkpoints; ///< null without --checkpoint-dir
  std::unique_ptr<Loader> loader;
  std::unique_ptr<Metrics> metrics;
  std::unique_ptr<Progress> progress;
  UpdateResult result;
  Evaluation evaluation;
  Replicas replicas;
  std::vector<uint32_t> buckets; ///< of the update's micro-batches
  uint64_t peakAfterFirstUpdate = 0;
  double startSeconds = 0;
};

} // namespace tts::rt

#endif // TTS_RUNTIME_TRAIN_TRAIN_H
