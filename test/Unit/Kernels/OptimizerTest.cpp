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

/// Three tensors: one smaller than a vector, one of several blocks of the range
/// and a part of one, one of exactly a block.
const std::vector<size_t> kSizes = {5, 10020, 4096};

/// Text for each tensor, $I its number and $S its size, between `separator`s.
std::string each(const std::string &text, const std::string &separator = ", ") {
  std::string all;
  for (size_t i = 0; i < kSizes.size(); ++i)
    all += (i ? separator : "") +
           fill(text, {{"I", std::to_string(i)},
                       {"S", std::to_string(kSizes[i]) + "x"}});
  return all;
}

template <typename T> std::string manyKernels() {
  std::string body = each(R"(
      %np$I, %nm$I, %nv$I = tts.adamw %p$I, %g$I, %m$I, %v$I, %s, %c : tensor<$S$T>, tensor<8x$T>, tensor<$T>
      %ne$I = tts.ema %e$I, %np$I, %s, %c : tensor<$S$T>, tensor<8x$T>, tensor<$T>)",
                          "");
  std::string ties;
  for (size_t i = 0; i < kSizes.size(); ++i)
    for (int operand : {0, 2, 3, 4})
      ties += fill("$D tensor<$Sx$T> {rt.tied = $O : i64}",
                   {{"D", ties.empty() ? "" : ","},
                    {"S", std::to_string(kSizes[i])},
                    {"O", std::to_string(5 * i + operand)}});
  return fill(
      "func.func private @update(" +
          each("%p$I: tensor<$S$T>, %g$I: tensor<$S$T>, "
               "%m$I: tensor<$S$T>, %v$I: tensor<$S$T>, "
               "%e$I: tensor<$S$T>") +
          ", %s: tensor<8x$T>, %c: tensor<$T>) -> (" + ties +
          ") attributes {rt.kernel} {" + body + "\n return " +
          each("%np$I, %nm$I, %nv$I, %ne$I") + " : " +
          each("tensor<$S$T>, tensor<$S$T>, tensor<$S$T>, "
               "tensor<$S$T>") +
          "\n}\n" + "func.func private @squares(" + each("%x$I: tensor<$S$T>") +
          ") -> (" + each("tensor<$T>") + ") attributes {rt.kernel} {\n" +
          each("%y$I = tts.sum_squares %x$I : tensor<$S$T> to "
               "tensor<$T>",
               "\n") +
          "\n return " + each("%y$I") + " : " + each("tensor<$T>") + "\n}\n" +
          "func.func private @zero() -> (" + each("tensor<$S$T>") +
          ") attributes {rt.kernel} {\n" +
          each("%y$I = tts.full 0.0 : tensor<$S$T>", "\n") + "\n return " +
          each("%y$I") + " : " + each("tensor<$S$T>") + "\n}",
      {{"T", nameOf<T>()}});
}

/// One kernel over many tensors does to each what its own would.
TYPED_TEST(Optimizer, ManyTensorsInOneKernel) {
  using T = TypeParam;
  Compiled many(manyKernels<T>());
  std::vector<T> s = {T(1e-3), T(0.9), T(0.98), T(1e-9),
                      T(0.01), T(1.5), T(2.5),  T(0.999)};
  for (double factor : {0.5, double(NAN)}) {
    std::vector<T> clip = {T(factor)};
    std::vector<std::vector<T>> states, expected;
    for (size_t i = 0; i < kSizes.size(); ++i) {
      std::vector<std::vector<T>> own;
      for (uint32_t k = 0; k < 5; ++k)
        own.push_back(random<T>(kSizes[i], uint32_t(5 * i + k + 1)));
      for (T &value : own[3])
        value = std::fabs(value);
      states.insert(states.end(), own.begin(), own.end());
      Compiled one(kernels<T>(std::to_string(kSizes[i])));
      run(one["adamw"], {own[0], own[1], own[2], own[3], s, clip});
      run(one["ema"], {own[4], own[0], s, clip});
      expected.insert(expected.end(), own.begin(), own.end());
    }
    std::vector<Operand> operands(states.begin(), states.end());
    operands.push_back(s);
    operands.push_back(clip);
    run(many["update"], operands);
    for (size_t k = 0; k < states.size(); ++k)
      expectSame(states[k], expected[k], "tensor " + std::to_string(k));
  }
}

TYPED_TEST(Optimizer, ManySumsAndZerosInOneKernel) {
  using T = TypeParam;
  Compiled many(manyKernels<T>());
  EXPECT_EQ(many["squares"].range, int64_t(kSizes.size()));
  std::vector<std::vector<T>> x, sums(kSizes.size(), std::vector<T>(1));
  for (size_t size : kSizes)
    x.push_back(random<T>(size, uint32_t(size)));
  std::vector<Operand> operands(x.begin(), x.end());
  operands.insert(operands.end(), sums.begin(), sums.end());
  run(many["squares"], operands);
  for (size_t i = 0; i < kSizes.size(); ++i)
    expectSame(sums[i], {laneSum<T>(1, int64_t(kSizes[i]), [&](int64_t k) {
                 return x[i][k] * x[i][k];
               })});
  run(many["zero"], std::vector<Operand>(x.begin(), x.end()));
  for (const std::vector<T> &values : x)
    expectSame(values, std::vector<T>(values.size()));
}

TEST(ManyTensors, PartsOfAKernelDoTheSame) {
  EXPECT_EQ(refusal(R"(
    func.func private @k(%a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>) attributes {rt.kernel} {
      %x = tts.sum_squares %a : tensor<4xf32> to tensor<f32>
      %y = tts.full 0.0 : tensor<4xf32>
      return %x, %y : tensor<f32>, tensor<4xf32>
    })"),
            "the parts of the kernel are not the same ops");
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
