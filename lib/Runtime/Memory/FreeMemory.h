//===- FreeMemory.h - whether what ranks plan fits their machine ---------===//

#ifndef TTS_RUNTIME_MEMORY_FREEMEMORY_H
#define TTS_RUNTIME_MEMORY_FREEMEMORY_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace tts::rt {

/// A rank's part of memory that it shares with others, as doubles, which cross
/// between ranks: whose memory it is (a machine's, a control group's), what the
/// plan takes of it in all, what it has of that already.
struct MemoryShare {
  double machine, group, peak, resident;

  /// This process's.
  static MemoryShare own(uint64_t peakBytes);
  static constexpr size_t count = 4;
  std::array<double, count> numbers() const {
    return {machine, group, peak, resident};
  }
};

/// What is wrong where the ranks that share a rank's machine, or its control
/// group, do not find what they plan; else "". `ranks` are all, `count` numbers
/// each; the free bytes are those before any rank commits its memory.
std::string findLack(const double *ranks, size_t ranksCount, size_t self,
                     uint64_t freeOfMachine, uint64_t freeOfGroup);

} // namespace tts::rt

#endif // TTS_RUNTIME_MEMORY_FREEMEMORY_H
