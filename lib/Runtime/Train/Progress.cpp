//===- Progress.cpp - draws progress -------------------------------------===//
//
// Failing to write to the terminal is nobody's error.
//
//===----------------------------------------------------------------------===//

#include "Runtime/Train/Progress.h"
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <unistd.h>

namespace tts::rt {

namespace {

void put(const char *text, size_t length) {
  if (::write(STDOUT_FILENO, text, length) < 0)
    return;
}

} // namespace

Progress::Progress(int64_t first, int64_t last, Of of)
    : terminal(of == Of::Alone && isatty(STDOUT_FILENO)),
      isShown(of != Of::OtherRank), first(first), last(last),
      start(std::chrono::steady_clock::now()) {}

void Progress::redraw(const char *text, int length) {
  char line[256];
  int n = std::snprintf(line, sizeof(line), "\r%.*s\x1b[K",
                        std::min(length, 200), text);
  put(line, size_t(n));
  open = true;
}

void Progress::microBatch(int64_t step, size_t done, size_t all) {
  if (!terminal || done == all)
    return;
  char line[224];
  int n = std::snprintf(line, sizeof(line), "%s  | update %lld: %zu/%zu", shown,
                        (long long)step, done, all);
  redraw(line, n);
}

void Progress::update(const UpdateMetrics &m) {
  if (!isShown)
    return;
  std::chrono::duration<double> spent =
      std::chrono::steady_clock::now() - start;
  double left = spent.count() / double(m.step - first) *
                double(std::max<int64_t>(last - m.step, 0));
  int n = std::snprintf(
      shown, sizeof(shown),
      "step %lld/%lld  loss %.5g  grad %.3g  lr %.3g  %.0f frames/s  %d:%02d "
      "left",
      (long long)m.step, (long long)last, m.loss, m.gradNorm, m.lr,
      double(m.frames) / m.seconds, int(left) / 60, int(left) % 60);
  n = std::min(n, int(sizeof(shown)) - 1);
  if (terminal)
    return redraw(shown, n);
  char line[sizeof(shown) + 1];
  std::memcpy(line, shown, size_t(n));
  line[n] = '\n';
  put(line, size_t(n) + 1);
}

void Progress::evaluation(int64_t step, double loss) {
  char line[96];
  std::snprintf(line, sizeof(line), "step %lld  val_loss %.6g", (long long)step,
                loss);
  note(line);
}

void Progress::note(const char *text) {
  if (!isShown)
    return;
  end();
  put(text, std::strlen(text));
  put("\n", 1);
}

void Progress::end() {
  if (open)
    put("\n", 1);
  open = false;
}

} // namespace tts::rt
