//===- DrawsTest.cpp - noise, spans and coins -----------------------------===//

#include "Compiled.h"
#include "Philox.h"

using namespace tts::test;

namespace {

template <typename T> class Draws : public ::testing::Test {};
TYPED_TEST_SUITE(Draws, FloatTypes);

const std::string kStream = "noise";
const std::vector<int64_t> kUtterances = {12345678901, -1, 7};

Words wordsAt(int64_t seed, int64_t update, int64_t utterance, int64_t time,
              int64_t quad) {
  uint64_t key = keyOf(seed, kStream);
  return philox(
      {uint32_t(update), uint32_t(utterance), uint32_t(time), uint32_t(quad)},
      uint32_t(key), uint32_t(key >> 32));
}

double fraction(uint32_t word) { return double(word >> 8) / (1 << 24); }

/// The p of x with Φ(x) = p, by bisection on the C library's erfc.
double quantile(double p) {
  double low = -40, high = 0;
  for (int i = 0; i < 200; ++i) {
    double middle = (low + high) / 2;
    (0.5 * std::erfc(-middle / std::sqrt(2)) < p ? low : high) = middle;
  }
  return low;
}

/// Exact quantiles; without `draw` those of seed 0 and update 0.
TYPED_TEST(Draws, NormalIsTheQuantileOfItsWord) {
  using T = TypeParam;
  for (bool drawn : {true, false})
    for (int64_t channels : {0, 1, 7, 33, 80}) {
      Compiled compiled(fill(
          R"(
      func.func private @k(%u: tensor<3xi64>$A) -> tensor<3x5$Sx$T> attributes {rt.kernel} {
        %y = tts.normal %u$D {stream = "noise"} : tensor<3xi64>$E to tensor<3x5$Sx$T>
        return %y : tensor<3x5$Sx$T>
      })",
          {{"A", drawn ? ", %d: tensor<2xi64>" : ""},
           {"D", drawn ? ", %d" : ""},
           {"E", drawn ? ", tensor<2xi64>" : ""},
           {"S", channels ? "x" + std::to_string(channels) : ""},
           {"T", nameOf<T>()}}));
      int64_t width = std::max<int64_t>(channels, 1), count = 15 * width;
      std::vector<int64_t> draw = {42, 17}, utterances = kUtterances;
      std::vector<T> y(count);
      if (drawn)
        run(compiled["k"], {utterances, draw, y});
      else
        run(compiled["k"], {utterances, y});
      for (int64_t i = 0; i < count; ++i) {
        Words words =
            wordsAt(drawn ? 42 : 0, drawn ? 17 : 0, utterances[i / width / 5],
                    i / width % 5, i % width / 4);
        uint32_t word = words[i % width % 4];
        double z = quantile(((word & 0x7fffffff) + 0.5) / 4294967296.0);
        ASSERT_NEAR(y[i], word >> 31 ? z : -z, 2e-7 + 4e-7 * std::fabs(z));
      }
    }
}

TYPED_TEST(Draws, UniformIsExact) {
  using T = TypeParam;
  Compiled compiled(fill(R"(
      func.func private @k(%u: tensor<3xi64>, %d: tensor<2xi64>) -> tensor<3x$T> attributes {rt.kernel} {
        %y = tts.uniform %u, %d {stream = "noise"} : tensor<3xi64>, tensor<2xi64> to tensor<3x$T>
        return %y : tensor<3x$T>
      })",
                         {{"T", nameOf<T>()}}));
  std::vector<int64_t> draw = {42, 17}, utterances = kUtterances;
  std::vector<T> y(3), expected(3);
  run(compiled["k"], {utterances, draw, y});
  for (int i = 0; i < 3; ++i)
    expected[i] = T(fraction(wordsAt(42, 17, utterances[i], 0, 0)[0]));
  expectSame(y, expected);
}

TYPED_TEST(Draws, SpansLieInsideTheirUtterances) {
  using T = TypeParam;
  Compiled compiled(fill(R"(
      func.func private @k(%n: tensor<3xi32>, %u: tensor<3xi64>, %d: tensor<2xi64>) -> tensor<3x100x$T> attributes {rt.kernel} {
        %y = tts.span_mask %n, %u, %d {low = 0.5 : f64, high = 0.9 : f64, stream = "noise"} : tensor<3xi32>, tensor<3xi64>, tensor<2xi64> to tensor<3x100x$T>
        return %y : tensor<3x100x$T>
      })",
                         {{"T", nameOf<T>()}}));
  for (int64_t update = 0; update < 20; ++update) {
    std::vector<int64_t> draw = {42, update}, utterances = kUtterances;
    std::vector<int32_t> lengths = {100, 0, 37};
    std::vector<T> y(300), expected(300);
    run(compiled["k"], {lengths, utterances, draw, y});
    for (int b = 0; b < 3; ++b) {
      Words words = wordsAt(42, update, utterances[b], 0, 0);
      double part = 0.5 + (0.9 - 0.5) * fraction(words[0]);
      int64_t steps = int64_t(part * lengths[b]);
      int64_t first =
          int64_t(fraction(words[1]) * double(lengths[b] - steps + 1));
      ASSERT_LE(first + steps, lengths[b]);
      for (int64_t t = first; t < first + steps; ++t)
        expected[b * 100 + t] = 1;
    }
    expectSame(y, expected);
  }
}

TYPED_TEST(Draws, CoinsOfOneStreamAreOneFlip) {
  using T = TypeParam;
  std::string text;
  for (const char *rate : {"0.2", "0.44"})
    text += fill(R"(
      func.func private @k$R(%d: tensor<2xi64>) -> tensor<$T> attributes {rt.kernel} {
        %y = tts.coin %d {rate = $R : f64, stream = "noise"} : tensor<2xi64> to tensor<$T>
        return %y : tensor<$T>
      })",
                 {{"T", nameOf<T>()}, {"R", rate}});
  size_t at;
  while ((at = text.find("@k0.")) != std::string::npos)
    text.erase(at + 2, 2);
  Compiled compiled(text);
  int zeros = 0;
  for (int64_t update = 0; update < 200; ++update) {
    std::vector<int64_t> draw = {42, update};
    std::vector<T> low(1), high(1);
    run(compiled["k2"], {draw, low});
    run(compiled["k44"], {draw, high});
    uint32_t word = wordsAt(42, update, 0, 0, 0)[0];
    EXPECT_EQ(low[0], T(word >= uint32_t(std::floor(0.2 * 4294967296.0))));
    EXPECT_EQ(high[0], T(word >= uint32_t(std::floor(0.44 * 4294967296.0))));
    zeros += high[0] == T(0);
  }
  EXPECT_NEAR(zeros, 88, 25);
}

} // namespace
