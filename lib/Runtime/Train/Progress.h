//===- Progress.h - what the user sees while it trains -------------------===//
//
// On a terminal one line that is redrawn, also inside an update; otherwise one
// line per update. Formatted on the stack and written with write(2).
//
//===----------------------------------------------------------------------===//

#ifndef TTS_RUNTIME_TRAIN_PROGRESS_H
#define TTS_RUNTIME_TRAIN_PROGRESS_H

#include "Runtime/Train/Metrics.h"
#include <chrono>

namespace tts::rt {

class Progress {
public:
  /// Of a run alone: redrawn on a terminal, lines elsewhere. Of the first of
  /// several ranks: lines, since mpirun gives a terminal to whatever reads it.
  enum class Of { Alone, FirstRank, OtherRank };
  /// `first` updates were done before, `last` ends the run.
  Progress(int64_t first, int64_t last, Of of = Of::Alone);

  /// `done` of `all` micro-batches of update `step`.
  void microBatch(int64_t step, size_t done, size_t all);
  void update(const UpdateMetrics &m);
  void evaluation(int64_t step, double loss);
  /// A whole line of text.
  void note(const char *text);
  /// Leaves the cursor on a fresh line.
  void end();

private:
  void redraw(const char *text, int length);

  bool terminal, isShown;
  int64_t first, last;
  std::chrono::steady_clock::time_point start;
  char shown[160] = ""; ///< the last update's figures
  bool open = false;    ///< the redrawn line is not ended
};

} // namespace tts::rt

#endif // TTS_RUNTIME_TRAIN_PROGRESS_H
