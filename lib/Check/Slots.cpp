// Of a pipeline stage: what waits in one slot for its backward is safe from all
// that runs for others meanwhile, in whatever order that is.
#include "Timeline.h"

#include <algorithm>

using namespace tts::check;

namespace {

/// Bytes [begin, end), and a buffer there.
struct Waiting {
  uint64_t begin, end;
  uint32_t buffer;
};

class Slots {
public:
  Slots(const Table &table, const Programs &programs, Report &report)
      : table(table), report(report), slotOf(table.programs.size(), nowhere) {
    for (const Programs::Bucket &bucket : programs.buckets)
      for (uint32_t slot = 0; slot < bucket.forward.size(); ++slot) {
        slotOf[bucket.forward[slot]] = slotOf[bucket.backward[slot]] = slot;
        count = std::max(count, slot + 1);
      }
  }

  void check() {
    for (uint32_t slot = 0; count > 1 && slot < count; ++slot) {
      const std::vector<Waiting> waiting = findWaiting(slot);
      for (uint32_t b = 0; b < table.buffers.size(); ++b) {
        const uint32_t other = slotOfBuffer(b);
        if (other != nowhere && other != slot)
          checkBuffer(b, waiting);
      }
    }
  }

private:
  static constexpr uint32_t nowhere = UINT32_MAX;
  const Table &table;
  Report &report;
  std::vector<uint32_t> slotOf; ///< by program
  uint32_t count = 0;

  uint32_t slotOfBuffer(uint32_t index) const {
    const TtsBuffer &buffer = table.buffers[index];
    return isPersistent(buffer) ? nowhere : slotOf[buffer.program];
  }

  /// What any bucket keeps from forward to backward, as disjoint bytes.
  std::vector<Waiting> findWaiting(uint32_t slot) const {
    std::vector<Waiting> all, merged;
    for (uint32_t b = 0; b < table.buffers.size(); ++b) {
      const TtsBuffer &buffer = table.buffers[b];
      if (slotOfBuffer(b) == slot && buffer.last_program != buffer.program)
        all.push_back({buffer.offset, buffer.offset + buffer.size, b});
    }
    std::sort(all.begin(), all.end(), [](const Waiting &a, const Waiting &b) {
      return a.begin < b.begin;
    });
    for (const Waiting &each : all)
      if (!merged.empty() && each.begin < merged.back().end)
        merged.back().end = std::max(merged.back().end, each.end);
      else
        merged.push_back(each);
    return merged;
  }

  void checkBuffer(uint32_t index, const std::vector<Waiting> &waiting) {
    const TtsBuffer &buffer = table.buffers[index];
    auto first = std::upper_bound(
        waiting.begin(), waiting.end(), buffer.offset,
        [](uint64_t offset, const Waiting &each) { return offset < each.end; });
    if (first != waiting.end() && first->begin < buffer.offset + buffer.size)
      report.fail(table.bufferLabel(index),
                  "shares bytes with " + table.bufferLabel(first->buffer) +
                      ", which waits in another slot");
  }
};

} // namespace

void tts::check::checkSlots(const Table &table, const Programs &programs,
                            Report &report) {
  Slots(table, programs, report).check();
}
