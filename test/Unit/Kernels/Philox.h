//===- Philox.h - the generator, written plainly for the tests --*- C++ -*-===//

#ifndef TTS_TEST_UNIT_KERNELS_PHILOX_H
#define TTS_TEST_UNIT_KERNELS_PHILOX_H

#include <array>
#include <cstdint>
#include <string>

namespace tts::test {

using Words = std::array<uint32_t, 4>;

inline Words philox(Words c, uint32_t key0, uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    uint64_t p0 = uint64_t(0xd2511f53) * c[0], p1 = uint64_t(0xcd9e8d57) * c[2];
    c = {uint32_t(p1 >> 32) ^ c[1] ^ key0, uint32_t(p1),
         uint32_t(p0 >> 32) ^ c[3] ^ key1, uint32_t(p0)};
    key0 += 0x9e3779b9;
    key1 += 0xbb67ae85;
  }
  return c;
}

inline uint64_t keyOf(int64_t seed, const std::string &stream) {
  uint64_t hash = 0xcbf29ce484222325;
  for (unsigned char byte : stream)
    hash = (hash ^ byte) * 0x100000001b3;
  uint64_t z = uint64_t(seed) + 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return hash ^ (z ^ (z >> 31));
}

} // namespace tts::test

#endif // TTS_TEST_UNIT_KERNELS_PHILOX_H
