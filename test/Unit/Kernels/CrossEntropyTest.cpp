//===- CrossEntropyTest.cpp - cross entropy over rows of logits -----------===//

#include "Compiled.h"

using namespace tts::test;

namespace {

template <typename T> class CrossEntropy : public ::testing::Test {};
TYPED_TEST_SUITE(CrossEntropy, FloatTypes);

const int64_t kClasses[] = {1, 7, 31, 32, 33, 100};
constexpr int64_t kRows = 6, kFirst = 3, kSteps = 11;

template <typename T> std::string kernels() {
  std::string text;
  for (int64_t classes : kClasses)
    text += fill(R"(
      func.func private @rows$C(%l: tensor<6x$Cx$T>, %t: tensor<11xi32>, %a: tensor<11x$T>, %b: tensor<11x$T>)
          -> (tensor<11x$T> {rt.tied = 2 : i64}, tensor<11x$T> {rt.tied = 3 : i64}) attributes {rt.kernel} {
        %x, %y = tts.row_cross_entropy %l, %t, %a, %b {first_row = 3 : i64} : tensor<6x$Cx$T>, tensor<11xi32>, tensor<11x$T>
        return %x, %y : tensor<11x$T>, tensor<11x$T>
      }
      func.func private @grad$C(%l: tensor<6x$Cx$T>, %t: tensor<6xi32>, %e: tensor<6x$T>, %d: tensor<$T>)
          -> (tensor<6x$Cx$T> {rt.tied = 0 : i64}) attributes {rt.kernel} {
        %x = tts.row_cross_entropy_grad %l, %t, %e, %d : tensor<6x$Cx$T>, tensor<6xi32>, tensor<6x$T>, tensor<$T>
        return %x : tensor<6x$Cx$T>
      })",
                 {{"C", std::to_string(classes)}, {"T", nameOf<T>()}});
  return text;
}

/// Logits of which row 1 counts nothing and is no number, row 2 is so large
/// that its exponentials are not finite.
template <typename T> std::vector<T> logits(int64_t classes) {
  std::vector<T> l = random<T>(kRows * classes, 1, 4);
  for (int64_t c = 0; c < classes; ++c) {
    l[classes + c] = std::numeric_limits<T>::quiet_NaN();
    l[2 * classes + c] += T(1000);
  }
  return l;
}

std::vector<int32_t> targets(int64_t classes) {
  std::vector<int32_t> t(kSteps, -1);
  for (int64_t row : {0, 2, 3, 4, 5})
    t[kFirst + row] = int32_t((row * 37 + 5) % classes);
  return t;
}

TYPED_TEST(CrossEntropy, OfAChunkOfRows) {
  using T = TypeParam;
  Compiled compiled(kernels<T>());
  for (int64_t classes : kClasses) {
    std::vector<T> l = logits<T>(classes), losses = random<T>(kSteps, 2),
                   lse = random<T>(kSteps, 3);
    std::vector<T> otherLosses = losses, otherLse = lse;
    std::vector<int32_t> t = targets(classes);
    run(compiled["rows" + std::to_string(classes)], {l, t, losses, lse});
    for (int64_t i = 0; i < kSteps; ++i) {
      int64_t row = i - kFirst;
      if (row < 0 || row >= kRows) { // other chunks' rows stay
        EXPECT_TRUE(same(losses[i], otherLosses[i]) &&
                    same(lse[i], otherLse[i]))
            << i;
        continue;
      }
      if (t[i] < 0) {
        EXPECT_TRUE(same(losses[i], T(0)) && same(lse[i], T(0))) << i;
        continue;
      }
      const T *v = &l[row * classes];
      double highest = *std::max_element(v, v + classes), sum = 0;
      for (int64_t c = 0; c < classes; ++c)
        sum += std::exp(double(v[c]) - highest);
      double expected = highest + std::log(sum);
      double bound = 8 * std::numeric_limits<T>::epsilon() *
                     std::max(1.0, std::fabs(expected));
      EXPECT_NEAR(lse[i], expected, bound) << classes << " classes, row " << i;
      EXPECT_NEAR(losses[i], expected - double(v[t[i]]), 2 * bound) << i;
    }
  }
}

TYPED_TEST(CrossEntropy, GradientOfAChunkOfRows) {
  using T = TypeParam;
  Compiled compiled(kernels<T>());
  for (int64_t classes : kClasses) {
    std::vector<T> l = logits<T>(classes), original = l, lse(kRows),
                   dsum = {T(0.25)};
    std::vector<int32_t> all = targets(classes),
                         t(all.begin() + kFirst, all.begin() + kFirst + kRows);
    for (int64_t row = 0; row < kRows; ++row) {
      double highest = -1e30, sum = 0;
      for (int64_t c = 0; c < classes; ++c)
        highest = std::max<double>(highest, l[row * classes + c]);
      for (int64_t c = 0; c < classes; ++c)
        sum += std::exp(double(l[row * classes + c]) - highest);
      lse[row] = t[row] < 0 ? T(0) : T(highest + std::log(sum));
    }
    run(compiled["grad" + std::to_string(classes)], {l, t, lse, dsum});
    for (int64_t i = 0; i < kRows * classes; ++i) {
      int64_t row = i / classes;
      if (t[row] < 0) {
        EXPECT_TRUE(same(l[i], T(0))) << i;
        continue;
      }
      T shifted = original[i] - lse[row];
      double share = std::exp(double(shifted));
      double expected = 0.25 * (share - (i % classes == t[row]));
      EXPECT_NEAR(l[i], expected, 4 * std::numeric_limits<T>::epsilon()) << i;
    }
  }
}

TYPED_TEST(CrossEntropy, WhichTargetsCount) {
  using T = TypeParam;
  for (int64_t time : {1, 31, 33, 100}) {
    Compiled compiled(fill(R"(
      func.func private @told(%t: tensor<3x$Lxi32>, %n: tensor<3xi32>) -> tensor<3x$Lxi32> attributes {rt.kernel} {
        %x = tts.target_rows %t, %n {classes = 9 : i64, ignore_index = 4 : i64} : tensor<3x$Lxi32>, tensor<3xi32>
        return %x : tensor<3x$Lxi32>
      }
      func.func private @count(%t: tensor<3x$Lxi32>, %n: tensor<3xi32>) -> tensor<$T> attributes {rt.kernel} {
        %x = tts.count_targets %t, %n {classes = 9 : i64, ignore_index = 4 : i64} : tensor<3x$Lxi32>, tensor<3xi32> to tensor<$T>
        return %x : tensor<$T>
      })",
                           {{"L", std::to_string(time)}, {"T", nameOf<T>()}}));
    std::vector<int32_t> lengths = {int32_t(time), 0, int32_t((time + 1) / 2)};
    std::vector<int32_t> t(3 * time), told(t.size()), expected(t.size());
    T count = 0;
    for (int64_t i = 0; i < int64_t(t.size()); ++i) {
      t[i] = int32_t(i * 7 % 13) - 2; // -2 … 10
      bool counts =
          t[i] >= 0 && t[i] < 9 && t[i] != 4 && i % time < lengths[i / time];
      expected[i] = counts ? t[i] : -1;
      count += counts;
    }
    std::vector<T> found(1);
    run(compiled["told"], {t, lengths, told});
    EXPECT_EQ(told, expected);
    run(compiled["count"], {t, lengths, found});
    EXPECT_EQ(found[0], count);
  }
}

} // namespace
