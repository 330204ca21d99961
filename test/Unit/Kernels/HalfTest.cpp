//===- HalfTest.cpp - rounding and arithmetic of bf16 and f16 -------------===//
//
// The reference rounds in double, which holds every number of both types with
// room to spare. Scalars, lanes, tails and warps must give its bits.
//
//===----------------------------------------------------------------------===//

#include "Compiled.h"

using namespace tts::test;

namespace {

struct Half {
  const char *name;
  int mantissa, least; ///< bits, and the exponent of the finest spacing
  double largest;
};
const Half kHalves[] = {{"bf16", 7, -133, 0x1.fep127}, {"f16", 10, -24, 65504}};
const int64_t kSizes[] = {1, 7, 31, 32, 33, 100};

double roundTo(const Half &half, double value) {
  if (!std::isfinite(value) || value == 0)
    return value;
  int exponent = std::max(std::ilogb(value) - half.mantissa, half.least);
  double rounded =
      std::ldexp(std::nearbyint(std::ldexp(value, -exponent)), exponent);
  return std::fabs(rounded) > half.largest
             ? std::copysign(std::numeric_limits<double>::infinity(), value)
             : rounded;
}

/// The number that the bits of a half type say.
double valueOf(const Half &half, uint16_t bits) {
  int size = bits & 0x7fff;
  int fraction = size & ((1 << half.mantissa) - 1);
  int exponent = size >> half.mantissa;
  int most = half.mantissa == 7 ? 255 : 31;
  double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == most)
    return fraction ? std::numeric_limits<double>::quiet_NaN()
                    : sign * std::numeric_limits<double>::infinity();
  if (exponent == 0)
    return sign * std::ldexp(fraction, half.least);
  return sign *
         std::ldexp(fraction + (1 << half.mantissa), half.least + exponent - 1);
}

/// Ties, denormals, what overflows, zeros of both signs, no numbers.
std::vector<float> interesting(size_t count, uint32_t seed) {
  std::mt19937 generator(seed);
  std::vector<float> values(count);
  for (float &value : values) {
    uint32_t bits = generator();
    if (generator() % 3 == 0) // on or next to a tie
      bits = (bits & 0xffff0000u) + 0x7fff + generator() % 3;
    if (generator() % 3 == 0) // in the range of f16 and below
      bits = (bits & 0x807fffffu) | (96 + generator() % 50) << 23;
    if (generator() % 5 == 0) // a denormal
      bits &= 0x807fffffu;
    std::memcpy(&value, &bits, 4);
  }
  const float special[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 65520.0f};
  for (size_t i = 0; i < std::min<size_t>(6, count); ++i)
    values[i] = special[(i + seed) % 6];
  return values;
}

std::string textOf(const Half &half, const std::string &text) {
  std::string all;
  for (int64_t size : kSizes)
    all += fill(text, {{"H", half.name}, {"N", std::to_string(size)}});
  return all;
}

void expectHalf(const Half &half, uint16_t bits, double want, float from) {
  double got = valueOf(half, bits);
  if (std::isnan(want)) {
    ASSERT_TRUE(std::isnan(got)) << half.name << " of " << from;
    return;
  }
  ASSERT_EQ(got, want) << half.name << " of " << from;
  ASSERT_EQ(std::signbit(got), std::signbit(want)) << half.name;
}

TEST(HalfKernels, CastsRoundToNearestEven) {
  for (const Half &half : kHalves) {
    Compiled compiled(textOf(half, R"(
      func.func private @k$N(%x: tensor<$Nxf32>) -> tensor<$Nx$H> attributes {rt.kernel} {
        %y = tts.cast %x : tensor<$Nxf32> to tensor<$Nx$H>
        return %y : tensor<$Nx$H>
      })"));
    for (int64_t size : kSizes)
      for (uint32_t seed = 0; seed < 40; ++seed) {
        std::vector<float> x = interesting(size_t(size), seed);
        std::vector<uint16_t> y(x.size(), 0x1234);
        run(compiled["k" + std::to_string(size)], {x, y});
        for (size_t i = 0; i < x.size(); ++i)
          expectHalf(half, y[i], roundTo(half, x[i]), x[i]);
      }
  }
}

/// Every result of a kernel is rounded, also one that meets no memory.
TEST(HalfKernels, FusedIsRoundedAsUnfused) {
  for (const Half &half : kHalves) {
    Compiled compiled(textOf(half, R"(
      func.func private @fused$N(%x: tensor<$Nx$H>, %y: tensor<$Nx$H>) -> tensor<$Nx$H> attributes {rt.kernel} {
        %0 = tts.add %x, %y : tensor<$Nx$H>
        %1 = tts.gelu %0 : tensor<$Nx$H>
        %2 = tts.mul %1, %y : tensor<$Nx$H>
        return %2 : tensor<$Nx$H>
      }
      func.func private @add$N(%x: tensor<$Nx$H>, %y: tensor<$Nx$H>) -> tensor<$Nx$H> attributes {rt.kernel} {
        %0 = tts.add %x, %y : tensor<$Nx$H>
        return %0 : tensor<$Nx$H>
      }
      func.func private @gelu$N(%x: tensor<$Nx$H>) -> tensor<$Nx$H> attributes {rt.kernel} {
        %0 = tts.gelu %x : tensor<$Nx$H>
        return %0 : tensor<$Nx$H>
      }
      func.func private @mul$N(%x: tensor<$Nx$H>, %y: tensor<$Nx$H>) -> tensor<$Nx$H> attributes {rt.kernel} {
        %0 = tts.mul %x, %y : tensor<$Nx$H>
        return %0 : tensor<$Nx$H>
      })"));
    for (int64_t size : kSizes) {
      std::mt19937 generator(size);
      std::vector<uint16_t> x(size), y(size), fused(size), a(size), b(size),
          c(size);
      for (int64_t i = 0; i < size; ++i) {
        // Exponents around 1, so that the sum is a number.
        uint16_t one = half.mantissa == 7 ? 0x3f80 : 0x3c00;
        x[i] = uint16_t(one + generator() % 300);
        y[i] = uint16_t((generator() & 1) << 15 | (one + generator() % 300));
      }
      std::string n = std::to_string(size);
      run(compiled["fused" + n], {x, y, fused});
      run(compiled["add" + n], {x, y, a});
      run(compiled["gelu" + n], {a, b});
      run(compiled["mul" + n], {b, y, c});
      ASSERT_EQ(fused, c) << half.name;
      for (int64_t i = 0; i < size; ++i) {
        double sum = valueOf(half, x[i]) + valueOf(half, y[i]);
        ASSERT_EQ(valueOf(half, a[i]), roundTo(half, float(sum)));
        double product = valueOf(half, b[i]) * valueOf(half, y[i]);
        ASSERT_EQ(valueOf(half, c[i]), roundTo(half, float(product)));
      }
    }
  }
}

TEST(HalfKernels, ProductsAddInF32) {
  for (const Half &half : kHalves)
    for (bool transposeB : {false, true}) {
      Gemm gemm{"g", half.name, 3,          40, 35, 35, transposeB ? 35 : 40,
                40,  false,     transposeB, 1};
      gemm.elementC = "f32";
      Compiled compiled("", {gemm});
      std::vector<uint16_t> a(3 * 35), b(35 * 40);
      uint16_t one = half.mantissa == 7 ? 0x3f80 : 0x3c00;
      for (auto *matrix : {&a, &b}) // 1, 1.5, -1 or -1.5: sums are exact
        for (size_t i = 0; i < matrix->size(); ++i)
          (*matrix)[i] = uint16_t((i * 7 % 3 == 0) << 15 |
                                  (one + (i % 2 << (half.mantissa - 1))));
      std::vector<float> c(3 * 40, 1000.25f), want = c;
      for (int m = 0; m < 3; ++m)
        for (int n = 0; n < 40; ++n)
          for (int k = 0; k < 35; ++k)
            want[m * 40 + n] +=
                float(valueOf(half, a[m * 35 + k]) *
                      valueOf(half, b[transposeB ? n * 35 + k : k * 40 + n]));
      run(compiled["g"], {a, b, c});
      expectSame(c, want, half.name);
    }
}

} // namespace
