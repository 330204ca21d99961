//===- Random.h - the counter-based generator ----------------------------===//
//
// Philox4x32-10 (Salmon et al., SC'11): a pure function of key and counter.
// Initial values are keyed by (seed, parameter name) and counted by element,
// orders by (seed, epoch, shard): nothing depends on who draws when.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_RUNTIME_TRAIN_RANDOM_H
#define TTS_RUNTIME_TRAIN_RANDOM_H

#include <array>
#include <cstdint>
#include <string_view>

namespace tts::rt {

using Philox4 = std::array<uint32_t, 4>;

/// Four random words for a 128-bit counter under a 64-bit key.
inline Philox4 philox(Philox4 counter, uint64_t key) {
  uint32_t k0 = uint32_t(key), k1 = uint32_t(key >> 32);
  for (int round = 0; round < 10; ++round) {
    uint64_t p0 = uint64_t(0xD2511F53u) * counter[0];
    uint64_t p1 = uint64_t(0xCD9E8D57u) * counter[2];
    counter = {uint32_t(p1 >> 32) ^ counter[1] ^ k0, uint32_t(p1),
               uint32_t(p0 >> 32) ^ counter[3] ^ k1, uint32_t(p0)};
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return counter;
}

/// The same with a 64-bit counter.
inline Philox4 philox(uint64_t counter, uint64_t key) {
  return philox(Philox4{uint32_t(counter), uint32_t(counter >> 32), 0, 0}, key);
}

/// FNV-1a over the bytes, then a mix: distinct names get unrelated keys.
inline uint64_t hashKey(uint64_t seed, std::string_view name) {
  uint64_t h = 0xcbf29ce484222325u ^ seed;
  for (unsigned char c : name)
    h = (h ^ c) * 0x100000001b3u;
  h ^= h >> 30;
  h *= 0xbf58476d1ce4e5b9u;
  h ^= h >> 27;
  h *= 0x94d049bb133111ebu;
  return h ^ (h >> 31);
}

/// (0, 1): the middle of one of 2^32 cells.
inline double toUniform(uint32_t word) { return (word + 0.5) * 0x1p-32; }

} // namespace tts::rt

#endif // TTS_RUNTIME_TRAIN_RANDOM_H
