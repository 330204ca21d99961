//===- LossTest.cpp - masked losses and their gradients -------------------===//

#include "Compiled.h"

using namespace tts::test;

namespace {

template <typename T> class Loss : public ::testing::Test {};
TYPED_TEST_SUITE(Loss, FloatTypes);

struct Case {
  const char *shape;
  int64_t time, channels;
};
const Case kCases[] = {{"7", 7, 1},
                       {"33", 33, 1},
                       {"5x1", 5, 1},
                       {"5x33", 5, 33},
                       {"3x80", 3, 80}};

template <typename T>
void expectLoss(const std::string &op, const std::function<T(T)> &each,
                const std::function<T(T)> &slope) {
  std::string text;
  for (const Case &c : kCases)
    text += fill(R"(
      func.func private @sum$S(%p: tensor<4x$Sx$T>, %t: tensor<4x$Sx$T>, %n: tensor<4xi32>) -> tensor<$T> attributes {rt.kernel} {
        %y = tts.$O_loss %p, %t, %n : tensor<4x$Sx$T>, tensor<4xi32> to tensor<$T>
        return %y : tensor<$T>
      }
      func.func private @grad$S(%p: tensor<4x$Sx$T>, %t: tensor<4x$Sx$T>, %n: tensor<4xi32>, %d: tensor<$T>) -> tensor<4x$Sx$T> attributes {rt.kernel} {
        %y = tts.$O_loss_grad %p, %t, %n, %d : tensor<4x$Sx$T>, tensor<4xi32>, tensor<$T>
        return %y : tensor<4x$Sx$T>
      })",
                 {{"S", c.shape}, {"O", op}, {"T", nameOf<T>()}});
  Compiled compiled(text);
  for (const Case &c : kCases) {
    int64_t count = 4 * c.time * c.channels;
    int64_t rows = c.shape == std::to_string(c.time) ? 4 : 4 * c.time;
    std::vector<int32_t> lengths = {int32_t(c.time), 0, 1, int32_t(c.time / 2)};
    std::vector<T> p = random<T>(count, 1), t = random<T>(count, 2),
                   terms(count);
    std::vector<T> sum(1), gradient(count), expected(count), dsum = {T(0.25)};
    p[0] = t[0];
    for (int64_t i = 0; i < count; ++i) {
      bool valid = i / c.channels % c.time < lengths[i / c.channels / c.time];
      if (!valid)
        p[i] = std::numeric_limits<T>::quiet_NaN();
      T difference = p[i] - t[i];
      terms[i] = valid ? each(difference) : T(0);
      expected[i] = valid ? dsum[0] * slope(difference) : T(0);
    }
    run(compiled["sum" + std::string(c.shape)], {p, t, lengths, sum});
    expectSame(
        sum,
        {laneSum<T>(rows, count / rows, [&](int64_t i) { return terms[i]; })},
        c.shape);
    run(compiled["grad" + std::string(c.shape)],
        {p, t, lengths, dsum, gradient});
    expectSame(gradient, expected, c.shape);
  }
}

TYPED_TEST(Loss, L1) {
  using T = TypeParam;
  expectLoss<T>(
      "l1", [](T x) { return std::fabs(x); },
      [](T x) { return T((x > 0) - (x < 0)); });
}

TYPED_TEST(Loss, Mse) {
  using T = TypeParam;
  expectLoss<T>(
      "mse", [](T x) { return x * x; }, [](T x) { return T(2) * x; });
}

} // namespace
