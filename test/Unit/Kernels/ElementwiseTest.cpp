//===- ElementwiseTest.cpp - pointwise arithmetic -------------------------===//

#include "Compiled.h"

using namespace tts::test;

namespace {

const double kInf = std::numeric_limits<double>::infinity();
const double kNaN = std::numeric_limits<double>::quiet_NaN();
const int64_t kSizes[] = {1, 7, 31, 32, 33, 100};

template <typename T> class Elementwise : public ::testing::Test {};
TYPED_TEST_SUITE(Elementwise, FloatTypes);

/// One kernel per size, "k<size>", of an op with one or two operands.
std::string kernels(const std::string &op, int operands,
                    const std::string &type) {
  std::string text;
  for (int64_t size : kSizes)
    text += fill(operands == 1 ? R"(
      func.func private @k$N(%x: tensor<$Nx$T>) -> tensor<$Nx$T> attributes {rt.kernel} {
        %y = tts.$O %x : tensor<$Nx$T>
        return %y : tensor<$Nx$T>
      })"
                               : R"(
      func.func private @k$N(%x: tensor<$Nx$T>, %y: tensor<$Nx$T>) -> tensor<$Nx$T> attributes {rt.kernel} {
        %z = tts.$O %x, %y : tensor<$Nx$T>
        return %z : tensor<$Nx$T>
      })",
                 {{"O", op}, {"N", std::to_string(size)}, {"T", type}});
  return text;
}

/// Numbers of interest first, then random ones.
template <typename T> std::vector<T> inputs(int64_t size, uint32_t seed) {
  std::vector<T> values = random<T>(size, seed, 2);
  const double special[] = {0.0, -0.0, kNaN, kInf, -kInf, 1.0, -1.0};
  if (size > 7)
    for (size_t i = 0; i < 7; ++i)
      values[(i + seed) % 7] = T(special[i]);
  return values;
}

template <typename T>
void expectUnary(const std::string &op,
                 const std::function<double(double)> &reference,
                 double tolerance) {
  Compiled compiled(kernels(op, 1, nameOf<T>()));
  for (int64_t size : kSizes) {
    std::vector<T> x = inputs<T>(size, 1), y(size, T(-7));
    Kernel kernel = compiled["k" + std::to_string(size)];
    run(kernel, {x, y});
    for (int64_t i = 0; i < size; ++i)
      ASSERT_LE(ulps(y[i], reference(double(x[i]))), tolerance)
          << op << "(" << x[i] << ") is " << y[i] << ", not "
          << reference(x[i]);
    std::vector<T> inPlace = x;
    run(kernel, {inPlace, inPlace});
    expectSame(inPlace, y, op + " in place");
  }
}

template <typename T>
void expectBinary(const std::string &op,
                  const std::function<T(T, T)> &reference) {
  Compiled compiled(kernels(op, 2, nameOf<T>()));
  for (int64_t size : kSizes) {
    std::vector<T> x = inputs<T>(size, 1), y = inputs<T>(size, 4), z(size),
                   expected(size);
    for (int64_t i = 0; i < size; ++i)
      expected[i] = reference(x[i], y[i]);
    Kernel kernel = compiled["k" + std::to_string(size)];
    run(kernel, {x, y, z});
    expectSame(z, expected, op);
    for (bool second : {false, true}) {
      std::vector<T> a = x, b = y;
      std::vector<T> &target = second ? b : a;
      run(kernel, {a, b, target});
      expectSame(target, expected, op + " in place");
    }
  }
}

TYPED_TEST(Elementwise, ExactBinary) {
  using T = TypeParam;
  expectBinary<T>("add", [](T x, T y) { return x + y; });
  expectBinary<T>("accumulate", [](T x, T y) { return x + y; });
  expectBinary<T>("sub", [](T x, T y) { return x - y; });
  expectBinary<T>("mul", [](T x, T y) { return x * y; });
  expectBinary<T>("div", [](T x, T y) { return x / y; });
  expectBinary<T>("relu_grad", [](T x, T y) { return x > 0 ? y : T(0); });
}

TYPED_TEST(Elementwise, ExactUnary) {
  using T = TypeParam;
  expectUnary<T>(
      "neg", [](double x) { return -x; }, 0);
  expectUnary<T>(
      "abs", [](double x) { return std::fabs(x); }, 0);
  expectUnary<T>(
      "sign", [](double x) { return double((x > 0) - (x < 0)); }, 0);
  expectUnary<T>(
      "relu", [](double x) { return std::isnan(x) || x > 0 ? x : 0.0; }, 0);
  expectUnary<T>(
      "sqrt", [](double x) { return std::sqrt(x); }, 1);
  expectUnary<T>(
      "rsqrt", [](double x) { return 1 / std::sqrt(x); }, 4);
}

TYPED_TEST(Elementwise, Functions) {
  using T = TypeParam;
  expectUnary<T>(
      "exp", [](double x) { return std::exp(x); }, 4);
  expectUnary<T>(
      "log", [](double x) { return std::log(x); }, 4);
  expectUnary<T>(
      "log1p", [](double x) { return std::log1p(x); }, 4);
  expectUnary<T>(
      "tanh", [](double x) { return std::tanh(x); }, 4);
  expectUnary<T>(
      "sin", [](double x) { return std::sin(x); }, 2);
  expectUnary<T>(
      "cos", [](double x) { return std::cos(x); }, 2);
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

double geluTanh(double x) {
  return std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x));
}

TYPED_TEST(Elementwise, Activations) {
  using T = TypeParam;
  expectUnary<T>("sigmoid", sigmoid, 8);
  expectUnary<T>(
      "silu", [](double x) { return x / (1 + std::exp(-x)); }, 8);
}

/// Where 1 + tanh cancels, the error is of the size of x, not of the result.
TYPED_TEST(Elementwise, Gelu) {
  using T = TypeParam;
  double tolerance = 8 * std::numeric_limits<T>::epsilon();
  Compiled compiled(kernels("gelu", 1, nameOf<T>()));
  Compiled gradients(kernels("gelu_grad", 2, nameOf<T>()));
  for (int64_t size : kSizes) {
    std::vector<T> x = random<T>(size, 3, 2), dy = random<T>(size, 4), y(size),
                   dx(size);
    std::string name = "k" + std::to_string(size);
    run(compiled[name], {x, y});
    run(gradients[name], {x, dy, dx});
    for (int64_t i = 0; i < size; ++i) {
      double v = x[i], h = geluTanh(v);
      EXPECT_NEAR(y[i], v / 2 * (1 + h), tolerance * (1 + std::fabs(v)));
      double slope = 0.7978845608028654 * (1 + 3 * 0.044715 * v * v);
      double derivative = (1 + h) / 2 + v / 2 * (1 - h * h) * slope;
      EXPECT_NEAR(dx[i], dy[i] * derivative,
                  tolerance * 4 * (1 + std::fabs(dy[i] * v)));
    }
  }
}

TYPED_TEST(Elementwise, RoundToInt) {
  using T = TypeParam;
  Compiled compiled(fill(R"(
    func.func private @k(%x: tensor<2x19x$T>) -> tensor<2x19xi32> attributes {rt.kernel} {
      %y = tts.round_to_int %x : tensor<2x19x$T> to tensor<2x19xi32>
      return %y : tensor<2x19xi32>
    })",
                         {{"T", nameOf<T>()}}));
  std::vector<T> x = random<T>(38, 1, 100);
  const int32_t most = 2147483520;
  const std::pair<double, int32_t> special[] = {
      {0.5, 0},      {1.5, 2},
      {2.5, 2},      {-0.5, 0},
      {-1.5, -2},    {kNaN, 0},
      {kInf, most},  {-kInf, -most},
      {3e9, most},   {-3e9, -most},
      {-0.0, 0},     {1e-30, 0},
      {16777217, 0}, {2147483520.0, most}};
  std::vector<int32_t> y(38), expected;
  for (T value : x)
    expected.push_back(int32_t(std::nearbyint(value)));
  for (size_t i = 0; i < std::size(special); ++i) {
    x[2 * i] = T(special[i].first); // some in both rows
    expected[2 * i] =
        special[i].first == 16777217 ? int32_t(x[2 * i]) : special[i].second;
  }
  run(compiled["k"], {x, y});
  EXPECT_EQ(y, expected);
}

/// Over the range that training meets: the error in units in the last place.
TEST(Accuracy, F32Functions) {
  const int64_t count = 4096;
  struct Case {
    const char *op;
    double lo, hi, tolerance;
    double (*reference)(double);
  } cases[] = {
      {"exp", -87, 88, 4, std::exp},   {"log", 1e-30, 1e4, 4, std::log},
      {"tanh", -9, 9, 4, std::tanh},   {"log1p", -0.99, 1e4, 4, std::log1p},
      {"sin", -100, 100, 2, std::sin}, {"cos", -100, 100, 2, std::cos},
  };
  for (const Case &c : cases) {
    Compiled compiled(fill(R"(
      func.func private @k(%x: tensor<$Nxf32>) -> tensor<$Nxf32> attributes {rt.kernel} {
        %y = tts.$O %x : tensor<$Nxf32>
        return %y : tensor<$Nxf32>
      })",
                           {{"O", c.op}, {"N", std::to_string(count)}}));
    std::vector<float> x(count), y(count);
    for (int64_t i = 0; i < count; ++i)
      x[i] = float(c.lo + (c.hi - c.lo) * i / (count - 1));
    run(compiled["k"], {x, y});
    double worst = 0, at = 0, absolute = 0;
    for (int64_t i = 0; i < count; ++i) {
      double error = ulps(y[i], c.reference(double(x[i])));
      absolute =
          std::max(absolute, std::fabs(y[i] - c.reference(double(x[i]))));
      if (error > worst)
        worst = error, at = x[i];
    }
    RecordProperty(std::string(c.op) + "_ulps", std::to_string(worst));
    EXPECT_LE(worst, c.tolerance)
        << c.op << " at " << at << ", absolute " << absolute;
  }
}

TEST(Kernels, RefuseWhatIsNotOneKernel) {
  EXPECT_NE(refusal(R"(
    func.func private @k(%x: tensor<?xf32, #tts.dims<batch>>) -> tensor<?xf32, #tts.dims<batch>> attributes {rt.kernel} {
      return %x : tensor<?xf32, #tts.dims<batch>>
    })")
                .find("specialize first"),
            std::string::npos);
  EXPECT_NE(refusal(R"(
    func.func private @k(%x: tensor<4x5xf32>, %w: tensor<5x6xf32>) -> tensor<4x6xf32> attributes {rt.kernel} {
      %y = tts.linear %x, %w : tensor<4x5xf32>, tensor<5x6xf32> to tensor<4x6xf32>
      return %y : tensor<4x6xf32>
    })")
                .find("Select must turn it into library calls"),
            std::string::npos);
  EXPECT_NE(refusal(R"(
    func.func private @k(%x: tensor<4x5xf32>) -> tensor<f32> attributes {rt.kernel} {
      %a = tts.sum_to %x dims [0] : tensor<4x5xf32> to tensor<4xf32>
      %b = tts.sum_to %a dims [] : tensor<4xf32> to tensor<f32>
      return %b : tensor<f32>
    })")
                .find("at most one"),
            std::string::npos);
  EXPECT_NE(refusal(R"(
    func.func private @k(%x: tensor<4xf32>, %z: tensor<5xf32>) -> (tensor<4xf32>, tensor<5xf32>) attributes {rt.kernel} {
      %y = tts.neg %x : tensor<4xf32>
      %w = tts.neg %z : tensor<5xf32>
      return %y, %w : tensor<4xf32>, tensor<5xf32>
    })")
                .find("differ in shape"),
            std::string::npos);
}

} // namespace
