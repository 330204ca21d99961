//===- LiveBytes.h - the certificate's figures out of live ranges --------===//

#ifndef TTS_TRANSFORMS_PLAN_LIVEBYTES_H
#define TTS_TRANSFORMS_PLAN_LIVEBYTES_H

#include "tts-runtime/Format.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <array>
#include <cstdint>

namespace tts::plan {

inline constexpr unsigned kNumClasses = TTS_CLASS_BUFFERS + 1;

/// Bytes by TtsClass.
using ClassBytes = std::array<int64_t, kNumClasses>;

/// "parameters", "half_copies", … by TtsClass.
llvm::StringRef className(unsigned klass);

/// One program of the table: how long it is and when it runs.
struct ProgramSpan {
  int64_t kind = 0, bucket = -1, entries = 0;
};

/// Where each program begins on the timeline of docs/certificate.md.
llvm::SmallVector<int64_t>
getTimelineStarts(llvm::ArrayRef<ProgramSpan> programs);

/// One buffer; programs are indices, -1 is persistent; ends are inclusive.
struct LiveRange {
  unsigned klass = 0;
  int64_t program = -1, lastProgram = -1;
  int64_t firstEntry = 0, lastEntry = 0;
  int64_t size = 0;
};

/// The most bytes live at once and the first moment they are, by class, as
/// docs/certificate.md defines timeline, position and peak moment.
struct LiveBytes {
  int64_t most = 0;
  int64_t persistent = 0;
  ClassBytes classes = {};
  /// Of the peak moment; -1 when there is no entry.
  int64_t program = -1, entry = -1;
};

LiveBytes measureLiveBytes(llvm::ArrayRef<ProgramSpan> programs,
                           llvm::ArrayRef<LiveRange> ranges);

} // namespace tts::plan

#endif // TTS_TRANSFORMS_PLAN_LIVEBYTES_H
