//===- Crc32.cpp - eight bytes at a time by eight tables ------------------===//
//
// "Slicing by 8" (Kounavis and Berry, 2005): table k takes a byte past k more.
//
//===----------------------------------------------------------------------===//

#include "Runtime/IO/Crc32.h"
#include <cinttypes>
#include <cstdio>
#include <cstring>

namespace tts::rt {

namespace {

struct Tables {
  uint32_t of[8][256];

  constexpr Tables() : of() {
    for (uint32_t byte = 0; byte < 256; ++byte) {
      uint32_t crc = byte;
      for (int bit = 0; bit < 8; ++bit)
        crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
      of[0][byte] = crc;
    }
    for (int k = 1; k < 8; ++k)
      for (uint32_t byte = 0; byte < 256; ++byte)
        of[k][byte] = of[k - 1][byte] >> 8 ^ of[0][of[k - 1][byte] & 255];
  }
};

constexpr Tables tables;

} // namespace

uint32_t crc32(const void *data, uint64_t bytes, uint32_t before) {
  const unsigned char *at = static_cast<const unsigned char *>(data);
  uint32_t crc = ~before;
  for (; bytes >= 8; bytes -= 8, at += 8) {
    uint64_t word;
    std::memcpy(&word, at, 8);
    word ^= crc;
    crc = 0;
    for (int k = 0; k < 8; ++k)
      crc ^= tables.of[7 - k][word >> 8 * k & 255];
  }
  for (; bytes; --bytes, ++at)
    crc = crc >> 8 ^ tables.of[0][(crc ^ *at) & 255];
  return ~crc;
}

std::string hexText(uint32_t crc) {
  char text[9];
  std::snprintf(text, sizeof(text), "%08" PRIx32, crc);
  return text;
}

} // namespace tts::rt
