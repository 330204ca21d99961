//===- LiveBytes.cpp - the certificate's figures out of live ranges ------===//

#include "tts/Transforms/Plan/LiveBytes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/SmallVector.h"
#include <tuple>
#include <vector>

using namespace tts::plan;

llvm::StringRef tts::plan::className(unsigned klass) {
  constexpr llvm::StringLiteral names[] = {
      "parameters",  "half_copies", "gradients", "optimizer",   "ema",
      "activations", "batch",       "workspace", "collectives", "buffers"};
  return klass < kNumClasses ? llvm::StringRef(names[klass]) : "unknown";
}

/// zero; per bucket denominators, forward, backward; folds; update; per bucket
/// eval; per bucket infer.
static std::tuple<int, int64_t, int64_t> timelineKey(const ProgramSpan &span) {
  switch (span.kind) {
  case TTS_PROGRAM_ZERO:
    return {0, 0, 0};
  case TTS_PROGRAM_DENOMINATORS:
  case TTS_PROGRAM_FORWARD:
  case TTS_PROGRAM_BACKWARD:
    return {1, span.bucket, span.kind};
  case TTS_PROGRAM_UPDATE:
    return {3, 0, 0};
  case TTS_PROGRAM_EVAL:
    return {4, span.bucket, 0};
  case TTS_PROGRAM_INFER:
    return {5, span.bucket, 0};
  default: // folds
    return {2, 0, span.kind};
  }
}

static llvm::SmallVector<size_t>
orderOnTimeline(llvm::ArrayRef<ProgramSpan> programs) {
  llvm::SmallVector<size_t> order =
      llvm::to_vector(llvm::seq<size_t>(0, programs.size()));
  llvm::stable_sort(order, [&](size_t a, size_t b) {
    return timelineKey(programs[a]) < timelineKey(programs[b]);
  });
  return order;
}

llvm::SmallVector<int64_t>
tts::plan::getTimelineStarts(llvm::ArrayRef<ProgramSpan> programs) {
  llvm::SmallVector<int64_t> start(programs.size());
  int64_t length = 0;
  for (size_t program : orderOnTimeline(programs)) {
    start[program] = length;
    length += programs[program].entries;
  }
  return start;
}

LiveBytes tts::plan::measureLiveBytes(llvm::ArrayRef<ProgramSpan> programs,
                                      llvm::ArrayRef<LiveRange> ranges) {
  llvm::SmallVector<int64_t> start = getTimelineStarts(programs);
  int64_t length = 0;
  for (const ProgramSpan &program : programs)
    length += program.entries;

  LiveBytes result;
  std::vector<int64_t> change(length + 1);
  for (const LiveRange &range : ranges) {
    if (range.program < 0) {
      result.persistent += range.size;
      continue;
    }
    change[start[range.program] + range.firstEntry] += range.size;
    change[start[range.lastProgram] + range.lastEntry + 1] -= range.size;
  }
  result.most = result.persistent;
  int64_t live = result.persistent, peak = -1;
  for (int64_t position = 0; position < length; ++position) {
    live += change[position];
    if (peak < 0 || live > result.most) {
      result.most = live;
      peak = position;
    }
  }

  for (const LiveRange &range : ranges) {
    bool isLive = range.program < 0 ||
                  (start[range.program] + range.firstEntry <= peak &&
                   peak <= start[range.lastProgram] + range.lastEntry);
    if (isLive && range.klass < kNumClasses)
      result.classes[range.klass] += range.size;
  }
  for (size_t program : orderOnTimeline(programs))
    if (peak >= start[program] &&
        peak < start[program] + programs[program].entries) {
      result.program = program;
      result.entry = peak - start[program];
    }
  return result;
}
