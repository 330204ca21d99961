//===- DropoutTest.cpp - counter-based masks ------------------------------===//

#include "Compiled.h"
#include "Philox.h"
#include <algorithm>

using namespace tts::test;

namespace {

/// The known answers that come with the generator's paper (Random123).
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, 0, 0),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0xa4093822,
                   0x299f31d0),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

template <typename T> class Dropout : public ::testing::Test {};
TYPED_TEST_SUITE(Dropout, FloatTypes);

const double kRate = 0.3;
const std::string kStream = "encoder.0.ffn.dropout";
const std::vector<int64_t> kUtterances = {12345678901, -1, 7};

std::string kernels(const std::string &type) {
  std::string text;
  for (int channels : {0, 1, 7, 31, 32, 33, 100})
    text += fill(R"(
      func.func private @k$C(%x: tensor<3x5$Sx$T>, %u: tensor<3xi64>, %d: tensor<2xi64>) -> tensor<3x5$Sx$T> attributes {rt.kernel} {
        %y = tts.dropout %x, %u, %d {rate = 0.3 : f64, stream = "$N"} : tensor<3x5$Sx$T>, tensor<3xi64>, tensor<2xi64>
        return %y : tensor<3x5$Sx$T>
      })",
                 {{"C", std::to_string(channels)},
                  {"T", type},
                  {"N", kStream},
                  {"S", channels ? "x" + std::to_string(channels) : ""}});
  return text;
}

/// The same sum with and without channels: rank 2 uses channel 0's draw.
TYPED_TEST(Dropout, DrawsOfTheCounters) {
  using T = TypeParam;
  Compiled compiled(kernels(nameOf<T>()));
  const uint32_t threshold = uint32_t(std::floor(kRate * 4294967296.0));
  for (int64_t channels : {0, 1, 7, 31, 32, 33, 100}) {
    std::vector<int64_t> draw = {42, 17}, utterances = kUtterances;
    int64_t width = std::max<int64_t>(channels, 1), count = 3 * 5 * width;
    std::vector<T> x = random<T>(count, 1), y(count), expected(count);
    x[0] = std::numeric_limits<T>::quiet_NaN();
    uint64_t key = keyOf(draw[0], kStream);
    for (int64_t i = 0; i < count; ++i) {
      int64_t batch = i / width / 5, time = i / width % 5, channel = i % width;
      Words words = philox({uint32_t(draw[1]), uint32_t(utterances[batch]),
                            uint32_t(time), uint32_t(channel / 4)},
                           uint32_t(key), uint32_t(key >> 32));
      bool kept = words[channel % 4] >= threshold;
      expected[i] = kept ? x[i] * T(1 / (1 - kRate)) : T(0);
    }
    run(compiled["k" + std::to_string(channels)], {x, utterances, draw, y});
    expectSame(y, expected, "channels " + std::to_string(channels));
  }
}

TEST(Dropout, KeepsTheShareItSays) {
  Compiled compiled(R"(
    func.func private @k(%x: tensor<4x64x256xf32>, %u: tensor<4xi64>, %d: tensor<2xi64>) -> tensor<4x64x256xf32> attributes {rt.kernel} {
      %y = tts.dropout %x, %u, %d {rate = 0.1 : f64, stream = "a"} : tensor<4x64x256xf32>, tensor<4xi64>, tensor<2xi64>
      return %y : tensor<4x64x256xf32>
    })");
  std::vector<float> x(4 * 64 * 256, 1.0f), y(x.size());
  std::vector<int64_t> utterances = {0, 1, 2, 3}, draw = {1, 0};
  run(compiled["k"], {x, utterances, draw, y});
  double dropped =
      double(std::count(y.begin(), y.end(), 0.0f)) / double(y.size());
  EXPECT_NEAR(dropped, 0.1, 0.005);
}

} // namespace
