//===- Arena.h - the one block of memory all programs run in -------------===//
//
// Mapped once and committed at start. Its last byte lies right before a page
// that nobody may touch: an access past the plan faults instead of corrupting.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_RUNTIME_MEMORY_ARENA_H
#define TTS_RUNTIME_MEMORY_ARENA_H

#include <cstddef>
#include <cstdint>

namespace tts::rt {

class Arena {
public:
  /// Maps and touches `bytes` (zeros) with that many threads, or throws
  /// Exit::Refused.
  explicit Arena(uint64_t bytes, int threads = 1);
  ~Arena();
  Arena(const Arena &) = delete;
  Arena &operator=(const Arena &) = delete;

  char *at(uint64_t offset) const { return base + offset; }
  uint64_t size() const { return bytes; }

private:
  char *mapping = nullptr;
  uint64_t mappingBytes = 0;
  char *base = nullptr;
  uint64_t bytes = 0;
};

} // namespace tts::rt

#endif // TTS_RUNTIME_MEMORY_ARENA_H
