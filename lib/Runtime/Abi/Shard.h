//===- Shard.h - which part of a tensor a rank has ------------------------===//
//
// A tensor of n elements over N ranks is cut into shards of ceil(n / N): rank r
// has the elements from r · ceil(n / N) on, and zeros behind the last.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_RUNTIME_ABI_SHARD_H
#define TTS_RUNTIME_ABI_SHARD_H

#include <algorithm>
#include <cstdint>

namespace tts::rt {

/// Elements [first, first + count) of a tensor.
struct Part {
  uint64_t first = 0, count = 0;
};

inline uint64_t shardElements(uint64_t elements, int ranks) {
  return (elements + uint64_t(ranks) - 1) / uint64_t(ranks);
}

inline Part shardOf(uint64_t elements, int rank, int ranks) {
  uint64_t most = shardElements(elements, ranks);
  uint64_t first = std::min(elements, uint64_t(rank) * most);
  return {first, std::min(most, elements - first)};
}

} // namespace tts::rt

#endif // TTS_RUNTIME_ABI_SHARD_H
