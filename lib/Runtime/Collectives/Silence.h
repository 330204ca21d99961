//===- Silence.h - how long another rank has said nothing ----------------===//
//
// A rank that waits for the processor is not lost, and one that waited for it
// itself has heard nobody. So what counts is the time in which both could run.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_RUNTIME_COLLECTIVES_SILENCE_H
#define TTS_RUNTIME_COLLECTIVES_SILENCE_H

#include "Runtime/Memory/Process.h"
#include <algorithm>

namespace tts::rt {

class Silence {
public:
  /// A pass of the watch counts no longer than this, however long it took.
  static constexpr double longestPass = 0.1;
  /// Of the time in which the other was seen to want to run and was not let:
  /// not all, for it may be stuck.
  static constexpr double ofStarved = 0.1;

  /// The other said something.
  void end() { counted = 0; }
  /// A look at the other's process, once in a while.
  void look(ProcessState state) {
    isGone = state == ProcessState::Gone && last == state;
    last = state;
  }
  /// `seconds` have gone by since the pass before.
  void pass(double seconds) {
    seconds = std::min(seconds, longestPass);
    counted += last == ProcessState::Starved ? ofStarved * seconds : seconds;
  }

  double seconds() const { return counted; }
  /// Its process has ended, and what it may have said before has been heard:
  /// two looks saw that.
  bool hasEnded() const { return isGone; }

private:
  double counted = 0;
  ProcessState last = ProcessState::Unknown;
  bool isGone = false;
};

} // namespace tts::rt

#endif // TTS_RUNTIME_COLLECTIVES_SILENCE_H
