//===- BatchNormTest.cpp - batch statistics, what they normalise ----------===//

#include "Compiled.h"

using namespace tts::test;

namespace {

template <typename T> class BatchNorm : public ::testing::Test {};
TYPED_TEST_SUITE(BatchNorm, FloatTypes);

const int64_t kColumns[] = {1, 31, 32, 80};
constexpr int64_t kBatch = 4, kTime = 7, kRows = kBatch * kTime;
const std::vector<int32_t> kLengths = {7, 3, 0, 5};

template <typename T> std::string kernels() {
  std::string text;
  for (int64_t columns : kColumns)
    text += fill(R"(
      func.func private @statistics$C(%x: $X, %l: tensor<4xi32>, %n: tensor<$T>) -> ($V, $V, $V) attributes {rt.kernel} {
        %m, %r, %v = tts.batch_statistics %x, %l, %n {epsilon = 1.0e-5 : f64} : $X, tensor<4xi32>, tensor<$T> to $V
        return %m, %r, %v : $V, $V, $V
      }
      func.func private @statistics_grad$C(%x: $X, %m: $V, %r: $V, %dm: $V, %dr: $V, %l: tensor<4xi32>, %n: tensor<$T>) -> $X attributes {rt.kernel} {
        %dx = tts.batch_statistics_grad %x, %m, %r, %dm, %dr, %l, %n : $X, $V, tensor<4xi32>, tensor<$T>
        return %dx : $X
      }
      func.func private @normalize$C(%x: $X, %m: $V, %r: $V, %g: $V, %b: $V) -> $X attributes {rt.kernel} {
        %y = tts.batch_normalize %x, %m, %r, %g, %b : $X, $V
        return %y : $X
      }
      func.func private @normalize_grad$C(%dy: $X, %r: $V, %g: $V) -> $X attributes {rt.kernel} {
        %dx = tts.batch_normalize_grad %dy, %r, %g : $X, $V
        return %dx : $X
      }
      func.func private @gamma_grad$C(%dy: $X, %x: $X, %m: $V, %r: $V, %a: $V) -> ($V {rt.tied = 4 : i64}) attributes {rt.kernel} {
        %dg = tts.batch_normalize_gamma_grad %dy, %x, %m, %r into %a : $V : $X, $V
        return %dg : $V
      }
      func.func private @mean$C(%old: $V, %new: $V, %n: tensor<$T>) -> $V attributes {rt.kernel} {
        %y = tts.running_average %old, %new, %n {momentum = 0.1 : f64} : $V, tensor<$T>
        return %y : $V
      }
      func.func private @variance$C(%old: $V, %new: $V, %n: tensor<$T>) -> $V attributes {rt.kernel} {
        %y = tts.running_average %old, %new, %n {momentum = 0.1 : f64, unbiased} : $V, tensor<$T>
        return %y : $V
      }
      func.func private @adopt$C(%old: $V, %new: $V, %clip: tensor<$T>) -> ($V {rt.tied = 0 : i64}) attributes {rt.kernel} {
        %y = tts.adopt %old, %new, %clip : $V, tensor<$T>
        return %y : $V
      })",
                 {{"C", std::to_string(columns)},
                  {"X", "tensor<4x7x" + std::to_string(columns) + "x$T>"},
                  {"V", "tensor<" + std::to_string(columns) + "x$T>"}});
  return fill(text, {{"T", nameOf<T>()}});
}

bool isValid(int64_t row) { return row % kTime < kLengths[row / kTime]; }

/// Σ over rows in the order of Sums.h: 8 lanes, then a tree.
template <typename T, typename Fn> T columnSum(Fn term) {
  T lanes[8] = {};
  for (int64_t row = 0; row < kRows; ++row)
    lanes[row % 8] += term(row);
  for (int half = 4; half; half /= 2)
    for (int l = 0; l < half; ++l)
      lanes[l] += lanes[l + half];
  return lanes[0];
}

TYPED_TEST(BatchNorm, StatisticsBitForBit) {
  using T = TypeParam;
  Compiled compiled(kernels<T>());
  for (int64_t columns : kColumns)
    for (T count : {T(15), T(0)}) {
      std::vector<int32_t> lengths = kLengths;
      if (count == 0)
        lengths.assign(kBatch, 0);
      // What is not finite in the padding does not enter.
      std::vector<T> x = random<T>(kRows * columns, 1, 3), n = {count};
      for (int64_t row = 0; row < kRows; ++row)
        if (!isValid(row))
          x[row * columns] = std::numeric_limits<T>::quiet_NaN();
      std::vector<T> m(columns), r(columns), v(columns), em(columns),
          er(columns), ev(columns);
      for (int64_t c = 0; c < columns; ++c) {
        auto at = [&](int64_t row) { return x[row * columns + c]; };
        auto counts = [&](int64_t row) { return count != 0 && isValid(row); };
        T divisor = std::max(count, T(1));
        em[c] = columnSum<T>(
                    [&](int64_t row) { return counts(row) ? at(row) : T(0); }) /
                divisor;
        ev[c] = columnSum<T>([&](int64_t row) {
                  T d = counts(row) ? at(row) - em[c] : T(0);
                  return d * d;
                }) /
                divisor;
        er[c] = T(1) / std::sqrt(ev[c] + T(1e-5));
      }
      run(compiled["statistics" + std::to_string(columns)],
          {x, lengths, n, m, r, v});
      expectSame(m, em, "mean");
      expectSame(v, ev, "variance");
      expectSame(r, er, "rstd");
    }
}

TYPED_TEST(BatchNorm, GradientsBitForBit) {
  using T = TypeParam;
  Compiled compiled(kernels<T>());
  for (int64_t columns : kColumns) {
    std::string size = std::to_string(columns);
    std::vector<T> dy = random<T>(kRows * columns, 1),
                   x = random<T>(kRows * columns, 2), m = random<T>(columns, 3),
                   r = random<T>(columns, 4), g = random<T>(columns, 5),
                   dm = random<T>(columns, 6), dr = random<T>(columns, 7);
    std::vector<T> n = {15}, acc = random<T>(columns, 8), eacc(columns);
    std::vector<T> dx(x.size()), edx(x.size()), dn(x.size()), edn(x.size());
    std::vector<int32_t> lengths = kLengths;
    for (int64_t i = 0; i < int64_t(x.size()); ++i) {
      int64_t c = i % columns;
      T slope = dr[c] * ((r[c] * r[c]) * r[c]);
      edx[i] =
          isValid(i / columns) ? (dm[c] - slope * (x[i] - m[c])) / n[0] : T(0);
      edn[i] = dy[i] * (r[c] * g[c]);
    }
    for (int64_t c = 0; c < columns; ++c)
      eacc[c] = acc[c] + columnSum<T>([&](int64_t row) {
                  int64_t i = row * columns + c;
                  return dy[i] * ((x[i] - m[c]) * r[c]);
                });
    run(compiled["statistics_grad" + size], {x, m, r, dm, dr, lengths, n, dx});
    expectSame(dx, edx, "dx of the statistics");
    run(compiled["normalize_grad" + size], {dy, r, g, dn});
    expectSame(dn, edn, "dx of the normalisation");
    run(compiled["gamma_grad" + size], {dy, x, m, r, acc});
    expectSame(acc, eacc, "dgamma");
  }
}

TYPED_TEST(BatchNorm, ForwardBitForBit) {
  using T = TypeParam;
  Compiled compiled(kernels<T>());
  for (int64_t columns : kColumns) {
    std::vector<T> x = random<T>(kRows * columns, 2), m = random<T>(columns, 3),
                   r = random<T>(columns, 4), g = random<T>(columns, 5),
                   b = random<T>(columns, 6), y(x.size()), ey(x.size());
    for (int64_t i = 0; i < int64_t(x.size()); ++i) {
      int64_t c = i % columns;
      ey[i] = ((x[i] - m[c]) * r[c]) * g[c] + b[c];
    }
    run(compiled["normalize" + std::to_string(columns)], {x, m, r, g, b, y});
    expectSame(y, ey);
  }
}

TYPED_TEST(BatchNorm, StatesBitForBit) {
  using T = TypeParam;
  Compiled compiled(kernels<T>());
  for (int64_t columns : kColumns) {
    std::string size = std::to_string(columns);
    std::vector<T> old = random<T>(columns, 1), fresh = random<T>(columns, 2);
    for (T count : {T(0), T(1), T(15)}) {
      std::vector<T> n = {count}, mean(columns), variance(columns),
                     emean(columns), evariance(columns);
      T ratio = count / std::max(count - 1, T(1));
      for (int64_t c = 0; c < columns; ++c) {
        T kept = T(0.9) * old[c];
        emean[c] = count == 0 ? old[c] : kept + T(0.1) * fresh[c];
        evariance[c] = count == 0 ? old[c] : kept + T(0.1) * (fresh[c] * ratio);
      }
      run(compiled["mean" + size], {old, fresh, n, mean});
      expectSame(mean, emean, "mean");
      run(compiled["variance" + size], {old, fresh, n, variance});
      expectSame(variance, evariance, "variance");
    }
    for (T clip : {T(0.5), std::numeric_limits<T>::quiet_NaN(),
                   std::numeric_limits<T>::infinity()}) {
      std::vector<T> state = old, factor = {clip};
      run(compiled["adopt" + size], {state, fresh, factor});
      expectSame(state, std::isfinite(clip) ? fresh : old, "state");
    }
  }
}

} // namespace
