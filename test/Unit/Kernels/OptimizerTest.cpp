//===- OptimizerTest.cpp - parameter updates and clipping -----------------===//

#include "Compiled.h"

using namespace tts::test;

namespace {

template <typename T> class Optimizer : public ::testing::Test {};
TYPED_TEST_SUITE(Optimizer, FloatTypes);

template <typename T> std::string kernels(const std::string &shape) {
  return fill(R"(
    func.func private @adamw(%p: tensor<$Sx$T>, %g: tensor<$Sx$T>, %m: tensor<$Sx$T>, %v: tensor<$Sx$T>, %s: tensor<8x$T>, %c: tensor<$T>)
        -> (tensor<$Sx$T> {rt.tied = 0 : i64}, tensor<$Sx$T> {rt.tied = 2 : i64}, tensor<$Sx$T> {rt.tied = 3 : i64}) attributes {rt.kernel} {
      %np, %nm, %nv = tts.adamw %p, %g, %m, %v, %s, %c : tensor<$Sx$T>, tensor<8x$T>, tensor<$T>
      return %np, %nm, %nv : tensor<$Sx$T>, tensor<$Sx$T>, tensor<$Sx$T>
    }
    func.func private @sgd(%p: tensor<$Sx$T>, %g: tensor<$Sx$T>, %s: tensor<8x$T>, %c: tensor<$T>)
        -> (tensor<$Sx$T> {rt.tied = 0 : i64}) attributes {rt.kernel} {
      %np = tts.sgd %p, %g, %s, %c : tensor<$Sx$T>, tensor<8x$T>, tensor<$T>
      return %np : tensor<$Sx$T>
    }
    func.func private @ema(%e: tensor<$Sx$T>, %p: tensor<$Sx$T>, %s: tensor<8x$T>, %c: tensor<$T>)
        -> (tensor<$Sx$T> {rt.tied = 0 : i64}) attributes {rt.kernel} {
      %ne = tts.ema %e, %p, %s, %c : tensor<$Sx$T>, tensor<8x$T>, tensor<$T>
      return %ne : tensor<$Sx$T>
    })",
              {{"S", shape}, {"T", nameOf<T>()}});
}

TYPED_TEST(Optimizer, UpdatesInPlaceOrNotAtAll) {
  using T = TypeParam;
  for (const char *shape : {"1", "33", "5x20", "32"}) {
    Compiled compiled(kernels<T>(shape));
    size_t count = std::string(shape) == "5x20" ? 100 : std::stoul(shape);
    std::vector<T> s = {T(1e-3), T(0.9), T(0.98), T(1e-9),
                        T(0.01), T(1.5), T(2.5),  T(0.999)};
    for (double factor : {0.5, double(NAN), double(INFINITY)}) {
      std::vector<T> clip = {T(factor)};
      bool acts = std::isfinite(factor);
      std::vector<T> p = random<T>(count, 1), g = random<T>(count, 2),
                     m = random<T>(count, 3), v = random<T>(count, 4);
      for (T &value : v)
        value = std::fabs(value);
      std::vector<T> ep = p, em = m, ev = v, sp = p, e = m, esp = p, ee = m;
      for (size_t i = 0; acts && i < count; ++i) {
        T cg = clip[0] * g[i];
        em[i] = s[1] * m[i] + (T(1) - s[1]) * cg;
        ev[i] = s[2] * v[i] + (T(1) - s[2]) * (cg * cg);
        T direction = (em[i] * s[5]) / (std::sqrt(ev[i] * s[6]) + s[3]);
        ep[i] = p[i] * (T(1) - s[0] * s[4]) - s[0] * direction;
        esp[i] = p[i] * (T(1) - s[0] * s[4]) - (s[0] * clip[0]) * g[i];
        ee[i] = s[7] * m[i] + (T(1) - s[7]) * p[i];
      }
      std::vector<T> parameter = p;
      run(compiled["adamw"], {p, g, m, v, s, clip});
      expectSame(p, ep, "p");
      expectSame(m, em, "m");
      expectSame(v, ev, "v");
      run(compiled["sgd"], {sp, g, s, clip});
      expectSame(sp, esp, "sgd");
      run(compiled["ema"], {e, parameter, s, clip});
      expectSame(e, ee, "ema");
    }
  }
}

TYPED_TEST(Optimizer, ClipFactor) {
  using T = TypeParam;
  Compiled compiled(fill(R"(
    func.func private @clip(%s: tensor<$T>) -> (tensor<$T>, tensor<$T>) attributes {rt.kernel} {
      %f, %n = tts.clip_factor %s {max_norm = 2.0 : f64} : tensor<$T>
      return %f, %n : tensor<$T>, tensor<$T>
    }
    func.func private @free(%s: tensor<$T>) -> (tensor<$T>, tensor<$T>) attributes {rt.kernel} {
      %f, %n = tts.clip_factor %s : tensor<$T>
      return %f, %n : tensor<$T>, tensor<$T>
    })",
                         {{"T", nameOf<T>()}}));
  for (double sum : {0.0, 1.0, 16.0, double(INFINITY), double(NAN), -1.0}) {
    std::vector<T> s = {T(sum)}, factor(1), norm(1);
    T expected = std::sqrt(s[0]), nan = std::numeric_limits<T>::quiet_NaN();
    T clipped = std::min(T(1), T(2) / (expected + T(1e-6)));
    run(compiled["clip"], {s, factor, norm});
    expectSame(norm, {expected});
    expectSame(factor, {std::isfinite(expected) ? clipped : nan});
    run(compiled["free"], {s, factor, norm});
    expectSame(factor, {std::isfinite(expected) ? T(1) : nan});
  }
}

} // namespace
