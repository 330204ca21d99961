//===- Timeline.h - groups of programs, live bytes, overlaps ----*- C++ -*-===//
//
// The timeline, its peak moment and the proof that live buffers are disjoint.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_LIB_CHECK_TIMELINE_H
#define TTS_LIB_CHECK_TIMELINE_H

#include "Manifest.h"

#include <array>

namespace tts::check {

/// Programs by kind and bucket, as indices into the table's.
struct Programs {
  static constexpr uint32_t none = TTS_NO_BUCKET;
  struct Bucket {
    uint32_t denominators = none, eval = none, infer = none;
    std::vector<uint32_t> forward, backward; ///< by slot
  };
  uint32_t zero = none, update = none;
  std::vector<uint32_t> folds; ///< after each group of micro-batches
  std::vector<Bucket> buckets;
};

/// Sorts the programs; false when one is missing, double or misplaced. Where
/// backward updates the parameters there is neither zero nor update.
bool findPrograms(const Table &table, const Manifest &manifest, Report &report,
                  Programs &programs);

/// What is live at the peak moment.
struct Peak {
  uint64_t bytes = 0;
  std::array<uint64_t, numClasses> classes{};
};

/// Whatever is under way in other slots of a pipeline stage: what waits there
/// for its backward is touched by no forward or backward of another slot.
void checkSlots(const Table &table, const Programs &programs, Report &report);

/// Checks where each buffer lies and that live ones are disjoint.
Peak checkTimeline(const Table &table, const Programs &programs,
                   Report &report);

/// Every operand lies in its buffer, which is live there.
void checkOperands(const Table &table, Report &report);

} // namespace tts::check

#endif // TTS_LIB_CHECK_TIMELINE_H
