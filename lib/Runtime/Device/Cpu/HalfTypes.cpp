//===- HalfTypes.cpp - between bf16 or f16 and f32 ------------------------===//
//
// In integers, so that no machine's own instruction decides about denormals,
// and without branches, so that loops over them are vectorized.
//
//===----------------------------------------------------------------------===//

#include "Runtime/Device/Cpu/HalfTypes.h"
#include <cstring>

namespace tts::rt {

namespace {

inline uint32_t bitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return bits;
}

inline float floatOf(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

constexpr uint32_t infinity = 0x7f800000u, magnitude = 0x7fffffffu;

inline uint16_t roundToBf16(float value) {
  uint32_t bits = bitsOf(value);
  uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
  return uint16_t((bits & magnitude) > infinity ? 0x7fc0u : rounded);
}

/// Normal numbers are rebiased and rounded on their bits; below the least
/// normal one, adding 0.5 leaves the rounded multiple of 2^-24 in the low bits.
inline uint16_t roundToF16(float value) {
  uint32_t bits = bitsOf(value), sign = bits >> 16 & 0x8000u;
  uint32_t size = bits & magnitude;
  uint32_t normal = (size - 0x38000000u + 0xfffu + (size >> 13 & 1)) >> 13;
  uint32_t small = bitsOf(floatOf(size) + 0.5f) - 0x3f000000u;
  uint32_t result = size < 0x38800000u ? small : normal;
  result = size >= 0x477ff000u ? 0x7c00u : result; // rounds past the largest
  result = size > infinity ? 0x7e00u : result;
  return uint16_t(sign | result);
}

inline float widenF16(uint16_t half) {
  uint32_t sign = uint32_t(half & 0x8000u) << 16, size = half & 0x7fffu;
  uint32_t normal = (size << 13) + 0x38000000u;
  uint32_t small = bitsOf(float(size) * 0x1p-24f);
  uint32_t special = (size << 13) | infinity;
  uint32_t bits = size < 0x400u ? small : size >= 0x7c00u ? special : normal;
  return floatOf(sign | bits);
}

template <typename To, typename From, typename Fn>
void each(void *to, const void *from, int64_t count, Fn convert) {
  To *__restrict out = static_cast<To *>(to);
  const From *__restrict in = static_cast<const From *>(from);
  for (int64_t i = 0; i < count; ++i)
    out[i] = convert(in[i]);
}

} // namespace

uint16_t toBf16(float value) { return roundToBf16(value); }
float fromBf16(uint16_t bits) { return floatOf(uint32_t(bits) << 16); }
uint16_t toF16(float value) { return roundToF16(value); }
float fromF16(uint16_t bits) { return widenF16(bits); }

void convertFloats(TtsDType toType, void *to, TtsDType fromType,
                   const void *from, int64_t count) {
  if (toType == fromType)
    std::memcpy(to, from, size_t(count) * (toType == TTS_F32 ? 4 : 2));
  else if (toType == TTS_BF16)
    each<uint16_t, float>(to, from, count, roundToBf16);
  else if (toType == TTS_F16)
    each<uint16_t, float>(to, from, count, roundToF16);
  else if (fromType == TTS_BF16)
    each<float, uint16_t>(to, from, count, [](uint16_t bits) {
      return floatOf(uint32_t(bits) << 16);
    });
  else
    each<float, uint16_t>(to, from, count, widenF16);
}

} // namespace tts::rt
