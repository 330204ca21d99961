//===- Metrics.h - metrics.jsonl and TensorBoard's events ----------------===//
//
// One JSON object per line, written with one write(2) each, so that the file is
// whole up to the last update whatever happens; the same numbers beside it as
// scalars for TensorBoard.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_RUNTIME_TRAIN_METRICS_H
#define TTS_RUNTIME_TRAIN_METRICS_H

#include "Runtime/Abi/Manifest.h"
#include "Runtime/IO/File.h"
#include "Runtime/Train/EventFile.h"
#include <array>
#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace tts::rt {

struct UpdateMetrics {
  int64_t step;
  uint64_t epoch;
  double loss;
  const std::vector<double> *losses;
  double lr, gradNorm;
  uint64_t utterances, frames, paddedFrames;
  double seconds;
  int64_t skipped;  ///< tries of this update whose gradients overflowed
  double lossScale; ///< of the try that went well
};

/// One rank's figures at its end.
struct FinalMetrics {
  uint64_t plannedPeak, measuredPeak, peakAfterFirstUpdate;
  uint64_t plannedArena, arenaHighWater;
  uint64_t largeAllocations;
  uint64_t bytesRead;  ///< of the corpus
  uint64_t bytesSent;  ///< to other ranks: gradients and states
  double startSeconds; ///< from the process's start to the first update's

  /// As doubles, which hold bytes below 2^53 exactly, to cross between ranks.
  static constexpr size_t count = 9;
  std::array<double, count> numbers() const;
  static FinalMetrics fromNumbers(const double *numbers);
};

/// What becomes of the lines that another run left in the directory.
enum class OlderLines {
  Dropped,  ///< a new run
  UpToStep, ///< a resumed one stands behind those up to its checkpoint
  Kept      ///< no training: the file is another run's
};

class Metrics {
public:
  /// Writes nowhere when `directory` is empty. `step` is that of the weights.
  /// With `tensorBoard` an event file begins too.
  Metrics(const std::string &directory, const Manifest &manifest,
          OlderLines older, int64_t step, bool tensorBoard);

  void update(const UpdateMetrics &m);
  void evaluation(int64_t step, double loss, const std::vector<double> &losses,
                  uint64_t utterances, double seconds);
  /// Of all ranks: the largest figures, and each by itself where they are
  /// several; and what the run was an experiment of, or null.
  void final(const std::vector<FinalMetrics> &ranks,
             const nlohmann::ordered_json &experiment);

private:
  const Manifest &manifest;
  File file;
  EventFile events;
  std::vector<std::string> lossTags, validationTags;
};

} // namespace tts::rt

#endif // TTS_RUNTIME_TRAIN_METRICS_H
