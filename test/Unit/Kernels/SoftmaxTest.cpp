//===- SoftmaxTest.cpp - softmax over valid keys --------------------------===//

#include "Compiled.h"

using namespace tts::test;

namespace {

template <typename T> class Softmax : public ::testing::Test {};
TYPED_TEST_SUITE(Softmax, FloatTypes);

const int64_t kKeys[] = {1, 7, 31, 32, 33, 100};

template <typename T> std::string kernels() {
  std::string text;
  for (int64_t keys : kKeys)
    text += fill(R"(
      func.func private @softmax$K(%s: tensor<2x3x$Kx$T>, %n: tensor<1xi32>) -> (tensor<2x3x$Kx$T> {rt.tied = 0 : i64}) attributes {rt.kernel} {
        %p = tts.key_softmax %s, %n {scale = 0.5 : f64} : tensor<2x3x$Kx$T>, tensor<1xi32>
        return %p : tensor<2x3x$Kx$T>
      }
      func.func private @grad$K(%p: tensor<2x3x$Kx$T>, %dp: tensor<2x3x$Kx$T>) -> (tensor<2x3x$Kx$T> {rt.tied = 1 : i64}) attributes {rt.kernel} {
        %ds = tts.key_softmax_grad %p, %dp {scale = 0.5 : f64} : tensor<2x3x$Kx$T>
        return %ds : tensor<2x3x$Kx$T>
      })",
                 {{"K", std::to_string(keys)}, {"T", nameOf<T>()}});
  return text;
}

TYPED_TEST(Softmax, OverValidKeysOnly) {
  using T = TypeParam;
  Compiled compiled(kernels<T>());
  for (int64_t keys : kKeys)
    for (int64_t length : {int64_t(0), int64_t(1), keys / 2, keys}) {
      std::vector<int32_t> lengths = {int32_t(length)};
      std::vector<T> scores = random<T>(6 * keys, 1, 20), original = scores;
      for (int64_t i = 0; i < 6 * keys; ++i)
        if (i % keys >= length)
          scores[i] = std::numeric_limits<T>::quiet_NaN();
      run(compiled["softmax" + std::to_string(keys)], {scores, lengths});
      for (int64_t row = 0; row < 6; ++row) {
        double highest = -1e300, sum = 0;
        for (int64_t k = 0; k < length; ++k)
          highest = std::max(highest, 0.5 * double(original[row * keys + k]));
        for (int64_t k = 0; k < length; ++k)
          sum += std::exp(0.5 * double(original[row * keys + k]) - highest);
        for (int64_t k = 0; k < keys; ++k) {
          T p = scores[row * keys + k];
          if (k >= length)
            ASSERT_TRUE(same(p, T(0))) << "key " << k << " of " << length;
          else
            ASSERT_NEAR(
                p,
                std::exp(0.5 * double(original[row * keys + k]) - highest) /
                    sum,
                20 * std::numeric_limits<T>::epsilon());
        }
      }
    }
}

TYPED_TEST(Softmax, GradientBitForBit) {
  using T = TypeParam;
  Compiled compiled(kernels<T>());
  for (int64_t keys : kKeys) {
    std::vector<T> p = random<T>(6 * keys, 1), dp = random<T>(6 * keys, 2),
                   expected(dp.size());
    for (int64_t row = 0; row < 6; ++row) {
      T sum = laneSum<T>(1, keys, [&](int64_t k) {
        return p[row * keys + k] * dp[row * keys + k];
      });
      for (int64_t i = row * keys; i < (row + 1) * keys; ++i)
        expected[i] = (T(0.5) * p[i]) * (dp[i] - sum);
    }
    run(compiled["grad" + std::to_string(keys)], {p, dp});
    expectSame(dp, expected);
  }
}

} // namespace
