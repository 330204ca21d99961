//===- HalfTypesTest.cpp - rounding to bf16 and f16, all of it ------------===//

#include "Runtime/Device/Cpu/HalfTypes.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace tts::rt;

namespace {

/// Rounds `value` to `bits` of mantissa, multiples of 2^least at the finest, by
/// arithmetic in double, which has room for both.
double roundTo(float value, int bits, int least, double largest) {
  if (!std::isfinite(value) || value == 0)
    return value;
  int exponent = std::max(std::ilogb(value) - bits, least);
  double rounded = std::ldexp(
      std::nearbyint(std::ldexp(double(value), -exponent)), exponent);
  return std::fabs(rounded) > largest ? std::copysign(INFINITY, value)
                                      : rounded;
}

float floatOf(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

/// Every exponent with mantissas around the ties of both types, both signs.
template <typename Fn> void forManyFloats(Fn check) {
  for (uint32_t sign : {0u, 0x80000000u})
    for (uint32_t exponent = 0; exponent < 256; ++exponent)
      for (uint32_t high = 0; high < 1024; high += 13)
        for (uint32_t low : {0u, 1u, 0xfffu, 0x1000u, 0x1001u, 0x1fffu})
          for (uint32_t middle : {0u, 0x8000u, 0x10000u})
            check(
                floatOf(sign | exponent << 23 | ((high << 13 | low) ^ middle)));
}

TEST(HalfTypes, Bf16RoundsToNearestEven) {
  forManyFloats([](float value) {
    float got = fromBf16(toBf16(value));
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(got));
      return;
    }
    double want = roundTo(value, 7, -133, 0x1.fep127);
    ASSERT_EQ(got, want) << value;
    ASSERT_EQ(std::signbit(got), std::signbit(value));
  });
}

TEST(HalfTypes, F16RoundsToNearestEven) {
  forManyFloats([](float value) {
    float got = fromF16(toF16(value));
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(got));
      return;
    }
    double want = roundTo(value, 10, -24, 65504);
    ASSERT_EQ(got, want) << value;
    ASSERT_EQ(std::signbit(got), std::signbit(value));
  });
}

TEST(HalfTypes, EveryHalfNumberSurvives) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    if (!std::isnan(fromBf16(uint16_t(bits)))) {
      ASSERT_EQ(toBf16(fromBf16(uint16_t(bits))), bits);
    }
    if (!std::isnan(fromF16(uint16_t(bits)))) {
      ASSERT_EQ(toF16(fromF16(uint16_t(bits))), bits);
    }
  }
}

TEST(HalfTypes, ConvertFloatsIsTheSameOnMany) {
  std::vector<float> values;
  for (int i = 0; i < 1000; ++i)
    values.push_back(std::ldexp(float(i % 37) - 18.3f, i % 50 - 30));
  std::vector<uint16_t> half(values.size());
  std::vector<float> back(values.size());
  for (TtsDType dtype : {TTS_BF16, TTS_F16}) {
    convertFloats(dtype, half.data(), TTS_F32, values.data(), 1000);
    convertFloats(TTS_F32, back.data(), dtype, half.data(), 1000);
    for (size_t i = 0; i < values.size(); ++i) {
      uint16_t want = dtype == TTS_BF16 ? toBf16(values[i]) : toF16(values[i]);
      ASSERT_EQ(half[i], want) << values[i];
      ASSERT_EQ(back[i], dtype == TTS_BF16 ? fromBf16(want) : fromF16(want));
    }
  }
}

} // namespace
