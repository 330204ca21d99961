//===- GatherTest.cpp - embedding, bucketize, sinusoid --------------------===//

#include "Compiled.h"
#include <algorithm>

using namespace tts::test;

namespace {

template <typename T> class Gather : public ::testing::Test {};
TYPED_TEST_SUITE(Gather, FloatTypes);

const int64_t kChannels[] = {1, 7, 31, 32, 33, 100};

TYPED_TEST(Gather, EmbeddingAndItsGradient) {
  using T = TypeParam;
  std::string text;
  for (int64_t channels : kChannels)
    text += fill(R"(
      func.func private @embed$C(%i: tensor<3x5xi32>, %t: tensor<4x$Cx$T>) -> tensor<3x5x$Cx$T> attributes {rt.kernel} {
        %y = tts.embedding %i, %t : tensor<3x5xi32>, tensor<4x$Cx$T> to tensor<3x5x$Cx$T>
        return %y : tensor<3x5x$Cx$T>
      }
      func.func private @grad$C(%i: tensor<3x5xi32>, %dy: tensor<3x5x$Cx$T>) -> tensor<4x$Cx$T> attributes {rt.kernel} {
        %dt = tts.embedding_grad %i, %dy : tensor<3x5xi32>, tensor<3x5x$Cx$T> to tensor<4x$Cx$T>
        return %dt : tensor<4x$Cx$T>
      }
      func.func private @into$C(%i: tensor<3x5xi32>, %dy: tensor<3x5x$Cx$T>, %a: tensor<4x$Cx$T>) -> (tensor<4x$Cx$T> {rt.tied = 2 : i64}) attributes {rt.kernel} {
        %dt = tts.embedding_grad %i, %dy into %a : tensor<4x$Cx$T> : tensor<3x5xi32>, tensor<3x5x$Cx$T> to tensor<4x$Cx$T>
        return %dt : tensor<4x$Cx$T>
      }
      func.func private @beside$C(%i: tensor<3x5xi32>, %dy: tensor<3x5x$Cx$T>, %a: tensor<4x$Cx$T>) -> tensor<4x$Cx$T> attributes {rt.kernel} {
        %dt = tts.embedding_grad %i, %dy into %a : tensor<4x$Cx$T> : tensor<3x5xi32>, tensor<3x5x$Cx$T> to tensor<4x$Cx$T>
        return %dt : tensor<4x$Cx$T>
      })",
                 {{"C", std::to_string(channels)}, {"T", nameOf<T>()}});
  Compiled compiled(text);
  std::vector<int32_t> ids = {0, 3,          4, -1, 1, 1, 1,          3,
                              0, 2147483647, 3, 3,  1, 0, -2147483647};
  for (int64_t channels : kChannels) {
    std::string suffix = std::to_string(channels);
    std::vector<T> table = random<T>(4 * channels, 1), y(15 * channels),
                   expected(y.size());
    std::vector<T> dy = random<T>(15 * channels, 2), sums(4 * channels),
                   acc = random<T>(4 * channels, 3);
    std::vector<T> beside(4 * channels), expectedSums(4 * channels),
        expectedAcc = acc;
    for (int64_t n = 0; n < 15; ++n)
      for (int64_t c = 0; c < channels; ++c) {
        bool inside = ids[n] >= 0 && ids[n] < 4;
        expected[n * channels + c] =
            table[(inside ? ids[n] : 0) * channels + c];
        if (inside) {
          expectedSums[ids[n] * channels + c] += dy[n * channels + c];
          expectedAcc[ids[n] * channels + c] += dy[n * channels + c];
        }
      }
    run(compiled["embed" + suffix], {ids, table, y});
    expectSame(y, expected, "y");
    run(compiled["grad" + suffix], {ids, dy, sums});
    expectSame(sums, expectedSums, "sums");
    run(compiled["beside" + suffix], {ids, dy, acc, beside});
    expectSame(beside, expectedAcc, "beside");
    run(compiled["into" + suffix], {ids, dy, acc});
    expectSame(acc, expectedAcc, "into");
  }
}

TYPED_TEST(Gather, BucketizeAndTheRowsItNames) {
  using T = TypeParam;
  Compiled compiled(fill(R"(
    func.func private @ids(%x: tensor<2x35x$T>, %b: tensor<5x$T>) -> tensor<2x35xi32> attributes {rt.kernel} {
      %i = tts.bucketize %x, %b : tensor<2x35x$T>, tensor<5x$T> to tensor<2x35xi32>
      return %i : tensor<2x35xi32>
    }
    func.func private @rows(%x: tensor<2x35x$T>, %b: tensor<5x$T>, %t: tensor<6x40x$T>) -> tensor<2x35x40x$T> attributes {rt.kernel} {
      %i = tts.bucketize %x, %b : tensor<2x35x$T>, tensor<5x$T> to tensor<2x35xi32>
      %y = tts.embedding %i, %t : tensor<2x35xi32>, tensor<6x40x$T> to tensor<2x35x40x$T>
      return %y : tensor<2x35x40x$T>
    })",
                         {{"T", nameOf<T>()}}));
  std::vector<T> x = random<T>(70, 1, 2), boundaries = {-2, -1, 0, T(0.5), 3},
                 table = random<T>(240, 2);
  x[0] = -1, x[1] = std::numeric_limits<T>::quiet_NaN(),
  x[2] = std::numeric_limits<T>::infinity();
  std::vector<int32_t> ids(70), expected(70);
  std::vector<T> rows(70 * 40), expectedRows(rows.size());
  for (int64_t i = 0; i < 70; ++i) {
    for (T boundary : boundaries)
      expected[i] += boundary < x[i];
    std::copy_n(&table[expected[i] * 40], 40, &expectedRows[i * 40]);
  }
  run(compiled["ids"], {x, boundaries, ids});
  EXPECT_EQ(ids, expected);
  run(compiled["rows"], {x, boundaries, table, rows});
  expectSame(rows, expectedRows);
}

TYPED_TEST(Gather, Sinusoid) {
  using T = TypeParam;
  for (int64_t channels : {2, 7, 32, 33, 100}) {
    Compiled compiled(
        fill(R"(
      func.func private @k() -> tensor<50x$Cx$T> attributes {rt.kernel} {
        %y = tts.sinusoid : tensor<50x$Cx$T>
        return %y : tensor<50x$Cx$T>
      })",
             {{"C", std::to_string(channels)}, {"T", nameOf<T>()}}));
    std::vector<T> y(50 * channels), expected(y.size());
    for (int64_t i = 0; i < int64_t(y.size()); ++i) {
      int64_t pair = i % channels / 2;
      double angle = double(i / channels) /
                     std::pow(10000.0, double(2 * pair) / double(channels));
      expected[i] = T(i % channels % 2 ? std::cos(angle) : std::sin(angle));
    }
    run(compiled["k"], {y});
    expectSame(y, expected, std::to_string(channels));
  }
}

} // namespace
