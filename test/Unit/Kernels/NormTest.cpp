//===- NormTest.cpp - layer and RMS normalisation, their gradients
//---------===//

#include "Compiled.h"

using namespace tts::test;

namespace {

template <typename T> class Norm : public ::testing::Test {};
TYPED_TEST_SUITE(Norm, FloatTypes);

const int64_t kColumns[] = {1, 7, 31, 32, 33, 100, 256};

template <typename T> std::string kernels() {
  std::string text;
  for (int64_t columns : kColumns)
    text += fill(R"(
      func.func private @norm$C(%x: tensor<3x5x$Cx$T>, %g: tensor<$Cx$T>, %b: tensor<$Cx$T>)
          -> (tensor<3x5x$Cx$T>, tensor<3x5x$T>, tensor<3x5x$T>) attributes {rt.kernel} {
        %y, %m, %r = tts.layer_norm %x, %g, %b {epsilon = 1.0e-5 : f64} : tensor<3x5x$Cx$T>, tensor<$Cx$T> to tensor<3x5x$T>
        return %y, %m, %r : tensor<3x5x$Cx$T>, tensor<3x5x$T>, tensor<3x5x$T>
      }
      func.func private @grad$C(%dy: tensor<3x5x$Cx$T>, %x: tensor<3x5x$Cx$T>, %m: tensor<3x5x$T>, %r: tensor<3x5x$T>, %g: tensor<$Cx$T>)
          -> tensor<3x5x$Cx$T> attributes {rt.kernel} {
        %dx = tts.layer_norm_grad %dy, %x, %m, %r, %g : tensor<3x5x$Cx$T>, tensor<3x5x$T>, tensor<$Cx$T>
        return %dx : tensor<3x5x$Cx$T>
      }
      func.func private @gamma$C(%dy: tensor<3x5x$Cx$T>, %x: tensor<3x5x$Cx$T>, %m: tensor<3x5x$T>, %r: tensor<3x5x$T>, %a: tensor<$Cx$T>)
          -> (tensor<$Cx$T> {rt.tied = 4 : i64}) attributes {rt.kernel} {
        %dg = tts.layer_norm_gamma_grad %dy, %x, %m, %r into %a : tensor<$Cx$T> : tensor<3x5x$Cx$T>, tensor<3x5x$T> to tensor<$Cx$T>
        return %dg : tensor<$Cx$T>
      })",
                 {{"C", std::to_string(columns)}, {"T", nameOf<T>()}});
  return text;
}

TYPED_TEST(Norm, ForwardBitForBit) {
  using T = TypeParam;
  Compiled compiled(kernels<T>());
  for (int64_t columns : kColumns) {
    std::vector<T> x = random<T>(15 * columns, 1, 3), g = random<T>(columns, 2),
                   b = random<T>(columns, 3);
    std::vector<T> y(15 * columns), m(15), r(15), ey(y.size()), em(15), er(15);
    for (int64_t row = 0; row < 15; ++row) {
      const T *v = &x[row * columns];
      em[row] =
          laneSum<T>(1, columns, [&](int64_t c) { return v[c]; }) / T(columns);
      T squares = laneSum<T>(1, columns, [&](int64_t c) {
        T d = v[c] - em[row];
        return d * d;
      });
      er[row] = T(1) / std::sqrt(squares / T(columns) + T(1e-5));
      for (int64_t c = 0; c < columns; ++c)
        ey[row * columns + c] = (v[c] - em[row]) * er[row] * g[c] + b[c];
    }
    std::string name = "norm" + std::to_string(columns);
    run(compiled[name], {x, g, b, y, m, r});
    expectSame(m, em, "mean");
    expectSame(r, er, "rstd");
    expectSame(y, ey, "y");
  }
}

TYPED_TEST(Norm, GradientsBitForBit) {
  using T = TypeParam;
  Compiled compiled(kernels<T>());
  for (int64_t columns : kColumns) {
    std::vector<T> dy = random<T>(15 * columns, 1),
                   x = random<T>(15 * columns, 2), g = random<T>(columns, 3);
    std::vector<T> m = random<T>(15, 4), r = random<T>(15, 5),
                   acc = random<T>(columns, 6);
    std::vector<T> dx(15 * columns), edx(dx.size()), eacc(columns);
    auto xhat = [&](int64_t i) {
      return (x[i] - m[i / columns]) * r[i / columns];
    };
    for (int64_t row = 0; row < 15; ++row) {
      int64_t first = row * columns;
      auto grad = [&](int64_t c) { return dy[first + c] * g[c]; };
      T meanG = laneSum<T>(1, columns, grad) / T(columns);
      T meanGX =
          laneSum<T>(1, columns,
                     [&](int64_t c) { return grad(c) * xhat(first + c); }) /
          T(columns);
      for (int64_t c = 0; c < columns; ++c)
        edx[first + c] =
            r[row] * ((grad(c) - meanG) - xhat(first + c) * meanGX);
    }
    for (int64_t c = 0; c < columns; ++c) {
      T lanes[8] = {};
      for (int64_t row = 0; row < 15; ++row)
        lanes[row % 8] += dy[row * columns + c] * xhat(row * columns + c);
      for (int half = 4; half; half /= 2)
        for (int l = 0; l < half; ++l)
          lanes[l] += lanes[l + half];
      eacc[c] = acc[c] + lanes[0];
    }
    run(compiled["grad" + std::to_string(columns)], {dy, x, m, r, g, dx});
    expectSame(dx, edx, "dx");
    run(compiled["gamma" + std::to_string(columns)], {dy, x, m, r, acc});
    expectSame(acc, eacc, "dgamma");
  }
}

template <typename T> std::string rmsKernels() {
  std::string text;
  for (int64_t columns : kColumns)
    text += fill(R"(
      func.func private @norm$C(%x: tensor<3x5x$Cx$T>, %g: tensor<$Cx$T>) -> (tensor<3x5x$Cx$T>, tensor<3x5x$T>) attributes {rt.kernel} {
        %y, %r = tts.rms_norm %x, %g {epsilon = 1.0e-6 : f64} : tensor<3x5x$Cx$T>, tensor<$Cx$T> to tensor<3x5x$T>
        return %y, %r : tensor<3x5x$Cx$T>, tensor<3x5x$T>
      }
      func.func private @grad$C(%dy: tensor<3x5x$Cx$T>, %x: tensor<3x5x$Cx$T>, %r: tensor<3x5x$T>, %g: tensor<$Cx$T>)
          -> tensor<3x5x$Cx$T> attributes {rt.kernel} {
        %dx = tts.rms_norm_grad %dy, %x, %r, %g : tensor<3x5x$Cx$T>, tensor<3x5x$T>, tensor<$Cx$T>
        return %dx : tensor<3x5x$Cx$T>
      }
      func.func private @gamma$C(%dy: tensor<3x5x$Cx$T>, %x: tensor<3x5x$Cx$T>, %r: tensor<3x5x$T>, %a: tensor<$Cx$T>)
          -> (tensor<$Cx$T> {rt.tied = 3 : i64}) attributes {rt.kernel} {
        %dg = tts.rms_norm_gamma_grad %dy, %x, %r into %a : tensor<$Cx$T> : tensor<3x5x$Cx$T>, tensor<3x5x$T> to tensor<$Cx$T>
        return %dg : tensor<$Cx$T>
      })",
                 {{"C", std::to_string(columns)}, {"T", nameOf<T>()}});
  return text;
}

TYPED_TEST(Norm, RootMeanSquareBitForBit) {
  using T = TypeParam;
  Compiled compiled(rmsKernels<T>());
  for (int64_t columns : kColumns) {
    std::vector<T> x = random<T>(15 * columns, 1, 3), g = random<T>(columns, 2);
    std::vector<T> y(15 * columns), r(15), ey(y.size()), er(15);
    for (int64_t row = 0; row < 15; ++row) {
      const T *v = &x[row * columns];
      T squares =
          laneSum<T>(1, columns, [&](int64_t c) { return v[c] * v[c]; });
      er[row] = T(1) / std::sqrt(squares / T(columns) + T(1e-6));
      for (int64_t c = 0; c < columns; ++c)
        ey[row * columns + c] = v[c] * er[row] * g[c];
    }
    run(compiled["norm" + std::to_string(columns)], {x, g, y, r});
    expectSame(r, er, "rstd");
    expectSame(y, ey, "y");
  }
}

TYPED_TEST(Norm, RootMeanSquareGradientsBitForBit) {
  using T = TypeParam;
  Compiled compiled(rmsKernels<T>());
  for (int64_t columns : kColumns) {
    std::vector<T> dy = random<T>(15 * columns, 1),
                   x = random<T>(15 * columns, 2), g = random<T>(columns, 3),
                   r = random<T>(15, 5), acc = random<T>(columns, 6);
    std::vector<T> dx(15 * columns), edx(dx.size()), eacc(columns);
    auto xhat = [&](int64_t i) { return x[i] * r[i / columns]; };
    for (int64_t row = 0; row < 15; ++row) {
      int64_t first = row * columns;
      auto grad = [&](int64_t c) { return dy[first + c] * g[c]; };
      T mean =
          laneSum<T>(1, columns,
                     [&](int64_t c) { return grad(c) * xhat(first + c); }) /
          T(columns);
      for (int64_t c = 0; c < columns; ++c)
        edx[first + c] = (grad(c) - xhat(first + c) * mean) * r[row];
    }
    for (int64_t c = 0; c < columns; ++c) {
      T lanes[8] = {};
      for (int64_t row = 0; row < 15; ++row)
        lanes[row % 8] += dy[row * columns + c] * xhat(row * columns + c);
      for (int half = 4; half; half /= 2)
        for (int l = 0; l < half; ++l)
          lanes[l] += lanes[l + half];
      eacc[c] = acc[c] + lanes[0];
    }
    run(compiled["grad" + std::to_string(columns)], {dy, x, r, g, dx});
    expectSame(dx, edx, "dx");
    run(compiled["gamma" + std::to_string(columns)], {dy, x, r, acc});
    expectSame(acc, eacc, "dgamma");
  }
}

} // namespace
