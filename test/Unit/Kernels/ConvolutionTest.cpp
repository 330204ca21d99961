//===- ConvolutionTest.cpp - convolutions per channel, parts, time sums ---===//

#include "Compiled.h"

using namespace tts::test;

namespace {

template <typename T> class Convolution : public ::testing::Test {};
TYPED_TEST_SUITE(Convolution, FloatTypes);

const int64_t kChannels[] = {1, 7, 32, 33, 100};
constexpr int64_t kBatch = 2, kTime = 9, kTaps = 4, kLeft = 1;

template <typename T> std::string kernels() {
  std::string text;
  for (int64_t channels : kChannels)
    text += fill(R"(
      func.func private @conv$C(%x: tensor<2x9x$Cx$T>, %w: tensor<4x$Cx$T>) -> tensor<2x9x$Cx$T> attributes {rt.kernel} {
        %y = tts.depthwise_conv1d %x, %w {left = 1} : tensor<2x9x$Cx$T>, tensor<4x$Cx$T>
        return %y : tensor<2x9x$Cx$T>
      }
      func.func private @back$C(%x: tensor<2x9x$Cx$T>, %w: tensor<4x$Cx$T>) -> tensor<2x9x$Cx$T> attributes {rt.kernel} {
        %y = tts.depthwise_conv1d %x, %w {left = 1, transposed} : tensor<2x9x$Cx$T>, tensor<4x$Cx$T>
        return %y : tensor<2x9x$Cx$T>
      }
      func.func private @filter$C(%x: tensor<2x9x$Cx$T>, %dy: tensor<2x9x$Cx$T>, %a: tensor<4x$Cx$T>) -> (tensor<4x$Cx$T> {rt.tied = 2 : i64}) attributes {rt.kernel} {
        %dw = tts.depthwise_conv1d_filter_grad %x, %dy into %a : tensor<4x$Cx$T> {left = 1} : tensor<2x9x$Cx$T> to tensor<4x$Cx$T>
        return %dw : tensor<4x$Cx$T>
      }
      func.func private @sum$C(%x: tensor<2x9x$Cx$T>, %a: tensor<2x$Cx$T>) -> (tensor<2x$Cx$T> {rt.tied = 1 : i64}) attributes {rt.kernel} {
        %y = tts.sum_to %x dims [0, 2] into %a : tensor<2x$Cx$T> : tensor<2x9x$Cx$T> to tensor<2x$Cx$T>
        return %y : tensor<2x$Cx$T>
      }
      func.func private @norm$C(%x: tensor<2x9x$Cx$T>) -> tensor<2x$Cx$T> attributes {rt.kernel} {
        %y = tts.time_norm %x : tensor<2x9x$Cx$T> to tensor<2x$Cx$T>
        return %y : tensor<2x$Cx$T>
      }
      func.func private @norm_grad$C(%x: tensor<2x9x$Cx$T>, %n: tensor<2x$Cx$T>, %dn: tensor<2x$Cx$T>) -> tensor<2x9x$Cx$T> attributes {rt.kernel} {
        %y = tts.time_norm_grad %x, %n, %dn : tensor<2x9x$Cx$T>, tensor<2x$Cx$T>
        return %y : tensor<2x9x$Cx$T>
      })",
                 {{"C", std::to_string(channels)}, {"T", nameOf<T>()}});
  return text;
}

/// Rows r, r+8, … in lanes, then 4 with 4, 2, 1.
template <typename T, typename Fn> T eightLanes(int64_t rows, Fn term) {
  T lanes[8] = {};
  for (int64_t r = 0; r < rows; ++r)
    lanes[r % 8] += term(r);
  for (int half = 4; half; half /= 2)
    for (int l = 0; l < half; ++l)
      lanes[l] += lanes[l + half];
  return lanes[0];
}

bool isStep(int64_t t) { return t >= 0 && t < kTime; }

TYPED_TEST(Convolution, TapsInOrder) {
  using T = TypeParam;
  Compiled compiled(kernels<T>());
  for (int64_t channels : kChannels) {
    int64_t count = kBatch * kTime * channels;
    std::vector<T> x = random<T>(count, 1), w = random<T>(kTaps * channels, 2);
    std::vector<T> y(count), back(count), ey(count), eback(count);
    for (int64_t i = 0; i < count; ++i) {
      int64_t c = i % channels, t = i / channels % kTime,
              first = i - t * channels;
      for (int64_t j = 0; j < kTaps; ++j) {
        int64_t forth = j - kLeft;
        if (isStep(t + forth))
          ey[i] += x[first + (t + forth) * channels] * w[j * channels + c];
        if (isStep(t - forth))
          eback[i] += x[first + (t - forth) * channels] * w[j * channels + c];
      }
    }
    std::string suffix = std::to_string(channels);
    run(compiled["conv" + suffix], {x, w, y});
    expectSame(y, ey, "conv" + suffix);
    run(compiled["back" + suffix], {x, w, back});
    expectSame(back, eback, "back" + suffix);
  }
}

TYPED_TEST(Convolution, FilterGradient) {
  using T = TypeParam;
  Compiled compiled(kernels<T>());
  for (int64_t channels : kChannels) {
    int64_t count = kBatch * kTime * channels;
    std::vector<T> x = random<T>(count, 1), dy = random<T>(count, 2),
                   acc = random<T>(kTaps * channels, 3), expected = acc;
    for (int64_t j = 0; j < kTaps; ++j)
      for (int64_t c = 0; c < channels; ++c)
        expected[j * channels + c] +=
            eightLanes<T>(kBatch * kTime, [&](int64_t row) -> T {
              int64_t t = row % kTime + j - kLeft;
              if (!isStep(t))
                return 0;
              return x[(row - row % kTime + t) * channels + c] *
                     dy[row * channels + c];
            });
    run(compiled["filter" + std::to_string(channels)], {x, dy, acc});
    expectSame(acc, expected);
  }
}

TYPED_TEST(Convolution, SumsOverTime) {
  using T = TypeParam;
  Compiled compiled(kernels<T>());
  for (int64_t channels : kChannels) {
    int64_t rows = kBatch * channels;
    std::vector<T> x = random<T>(rows * kTime, 1), acc = random<T>(rows, 2);
    for (int64_t t = 0; t < kTime; ++t) // a channel that is silent
      x[t * channels] = 0;
    std::vector<T> sums = acc, norms(rows), enorms(rows),
                   dn = random<T>(rows, 3);
    std::vector<T> dx(x.size()), edx(x.size());
    for (int64_t i = 0; i < rows; ++i) {
      const T *column = &x[i / channels * kTime * channels + i % channels];
      auto at = [&](int64_t t) { return column[t * channels]; };
      acc[i] += eightLanes<T>(kTime, at);
      enorms[i] = std::sqrt(
          eightLanes<T>(kTime, [&](int64_t t) { return at(t) * at(t); }));
      for (int64_t t = 0; t < kTime; ++t)
        edx[(i / channels * kTime + t) * channels + i % channels] =
            at(t) * (enorms[i] == 0 ? T(0) : dn[i] / enorms[i]);
    }
    std::string suffix = std::to_string(channels);
    run(compiled["sum" + suffix], {x, sums});
    expectSame(sums, acc, "sum" + suffix);
    run(compiled["norm" + suffix], {x, norms});
    expectSame(norms, enorms, "norm" + suffix);
    run(compiled["norm_grad" + suffix], {x, norms, dn, dx});
    expectSame(dx, edx, "norm_grad" + suffix);
  }
}

TYPED_TEST(Convolution, RowsOfZeros) {
  using T = TypeParam;
  Compiled compiled(fill(R"(
      func.func private @pad(%x: tensor<3x2x33x$T>) -> tensor<3x5x33x$T> attributes {rt.kernel} {
        %y = tts.pad_time %x {left = 2 : i64} : tensor<3x2x33x$T> to tensor<3x5x33x$T>
        return %y : tensor<3x5x33x$T>
      }
      func.func private @unpad(%x: tensor<12x33x$T>) -> tensor<3x2x33x$T> attributes {rt.kernel} {
        %y = tts.unpad_time %x {period = 5 : i64} : tensor<12x33x$T> to tensor<3x2x33x$T>
        return %y : tensor<3x2x33x$T>
      })",
                         {{"T", nameOf<T>()}}));
  std::vector<T> x = random<T>(3 * 2 * 33, 1), y(3 * 5 * 33, T(7)),
                 expected(y.size()), back(x.size());
  for (int i = 0; i < 3 * 2 * 33; ++i)
    expected[(i / 66 * 5 + 2 + i / 33 % 2) * 33 + i % 33] = x[i];
  run(compiled["pad"], {x, y});
  expectSame(y, expected, "pad");
  std::vector<T> rows(y.begin() + 2 * 33, y.begin() + 14 * 33);
  run(compiled["unpad"], {rows, back});
  expectSame(back, x, "unpad");
}

/// Parts that neither start nor end at a multiple of 32.
TYPED_TEST(Convolution, Parts) {
  using T = TypeParam;
  Compiled compiled(fill(R"(
      func.func private @concat(%a: tensor<3x2x7x$T>, %b: tensor<3x2x33x$T>, %c: tensor<3x2x1x$T>) -> tensor<3x2x41x$T> attributes {rt.kernel} {
        %y = tts.concat %a, %b, %c : tensor<3x2x7x$T>, tensor<3x2x33x$T>, tensor<3x2x1x$T> to tensor<3x2x41x$T>
        return %y : tensor<3x2x41x$T>
      }
      func.func private @split(%x: tensor<6x41x$T>) -> (tensor<6x7x$T>, tensor<6x33x$T>, tensor<6x1x$T>) attributes {rt.kernel} {
        %a, %b, %c = tts.split %x : tensor<6x41x$T> to tensor<6x7x$T>, tensor<6x33x$T>, tensor<6x1x$T>
        return %a, %b, %c : tensor<6x7x$T>, tensor<6x33x$T>, tensor<6x1x$T>
      })",
                         {{"T", nameOf<T>()}}));
  std::vector<T> a = random<T>(6 * 7, 1), b = random<T>(6 * 33, 2),
                 c = random<T>(6, 3), y(6 * 41), expected;
  for (int row = 0; row < 6; ++row) {
    expected.insert(expected.end(), &a[row * 7], &a[row * 7] + 7);
    expected.insert(expected.end(), &b[row * 33], &b[row * 33] + 33);
    expected.push_back(c[row]);
  }
  run(compiled["concat"], {a, b, c, y});
  expectSame(y, expected, "concat");
  std::vector<T> a2(a.size()), b2(b.size()), c2(c.size());
  run(compiled["split"], {y, a2, b2, c2});
  expectSame(a2, a, "a");
  expectSame(b2, b, "b");
  expectSame(c2, c, "c");
}

} // namespace
