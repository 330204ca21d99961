//===- ShapeTest.cpp - broadcast, full, mask, cast, and graphs of them ----===//

#include "Compiled.h"

using namespace tts::test;

namespace {

template <typename T> class Shape : public ::testing::Test {};
TYPED_TEST_SUITE(Shape, FloatTypes);

const int64_t kChannels[] = {1, 7, 31, 32, 33, 100};

TYPED_TEST(Shape, BroadcastOfEveryKind) {
  using T = TypeParam;
  std::string text;
  for (int64_t channels : kChannels)
    text += fill(R"(
      func.func private @k$C(%c: tensor<$Cx$T>, %b: tensor<3x$T>, %t: tensor<5x$T>,
                           %bt: tensor<3x5x$T>, %tc: tensor<5x$Cx$T>, %s: tensor<$T>)
          -> tensor<3x5x$Cx$T> attributes {rt.kernel} {
        %0 = tts.broadcast %c dims [2] : tensor<$Cx$T> to tensor<3x5x$Cx$T>
        %1 = tts.broadcast %b dims [0] : tensor<3x$T> to tensor<3x5x$Cx$T>
        %2 = tts.broadcast %t dims [1] : tensor<5x$T> to tensor<3x5x$Cx$T>
        %3 = tts.broadcast %bt dims [0, 1] : tensor<3x5x$T> to tensor<3x5x$Cx$T>
        %4 = tts.broadcast %tc dims [1, 2] : tensor<5x$Cx$T> to tensor<3x5x$Cx$T>
        %5 = tts.broadcast %s dims [] : tensor<$T> to tensor<3x5x$Cx$T>
        %6 = tts.add %0, %1 : tensor<3x5x$Cx$T>
        %7 = tts.add %6, %2 : tensor<3x5x$Cx$T>
        %8 = tts.add %7, %3 : tensor<3x5x$Cx$T>
        %9 = tts.add %8, %4 : tensor<3x5x$Cx$T>
        %10 = tts.mul %9, %5 : tensor<3x5x$Cx$T>
        return %10 : tensor<3x5x$Cx$T>
      })",
                 {{"C", std::to_string(channels)}, {"T", nameOf<T>()}});
  Compiled compiled(text);
  for (int64_t channels : kChannels) {
    auto c = random<T>(channels, 1), b = random<T>(3, 2), t = random<T>(5, 3);
    auto bt = random<T>(15, 4), tc = random<T>(5 * channels, 5),
         s = random<T>(1, 6);
    std::vector<T> y(15 * channels), expected(y.size());
    for (int64_t i = 0; i < int64_t(y.size()); ++i) {
      int64_t ch = i % channels, row = i / channels;
      T sum = c[ch] + b[row / 5];
      sum = sum + t[row % 5];
      sum = sum + bt[row];
      sum = sum + tc[row % 5 * channels + ch];
      expected[i] = sum * s[0];
    }
    run(compiled["k" + std::to_string(channels)], {c, b, t, bt, tc, s, y});
    expectSame(y, expected);
  }
}

TYPED_TEST(Shape, SwapMiddle) {
  using T = TypeParam;
  std::string text;
  for (int channels : {1, 7, 32, 100})
    text += fill(R"(
      func.func private @k$C(%x: tensor<2x5x3x$Cx$T>) -> tensor<2x3x5x$Cx$T> attributes {rt.kernel} {
        %y = tts.swap_middle %x : tensor<2x5x3x$Cx$T> to tensor<2x3x5x$Cx$T>
        return %y : tensor<2x3x5x$Cx$T>
      })",
                 {{"C", std::to_string(channels)}, {"T", nameOf<T>()}});
  Compiled compiled(text);
  for (int64_t channels : {1, 7, 32, 100}) {
    std::vector<T> x = random<T>(2 * 5 * 3 * channels, 1), y(x.size()),
                   expected(x.size());
    for (int64_t i = 0; i < int64_t(x.size()); ++i) {
      int64_t c = i % channels, head = i / channels % 3,
              time = i / channels / 3 % 5, b = i / channels / 15;
      expected[((b * 3 + head) * 5 + time) * channels + c] = x[i];
    }
    run(compiled["k" + std::to_string(channels)], {x, y});
    expectSame(y, expected, "channels " + std::to_string(channels));
  }
}

TYPED_TEST(Shape, MaskZeroesWhatIsNotFinite) {
  using T = TypeParam;
  std::string text;
  for (const char *shape : {"1", "33", "5", "5x7", "3x100"})
    text += fill(R"(
      func.func private @k$S(%x: tensor<4x$Sx$T>, %n: tensor<4xi32>) -> tensor<4x$Sx$T> attributes {rt.kernel} {
        %y = tts.mask %x, %n : tensor<4x$Sx$T>, tensor<4xi32>
        return %y : tensor<4x$Sx$T>
      })",
                 {{"S", shape}, {"T", nameOf<T>()}});
  Compiled compiled(text);
  struct Case {
    const char *shape;
    int64_t time, channels;
  };
  for (auto [shape, time, channels] :
       {Case{"1", 1, 1}, Case{"33", 33, 1}, Case{"5", 5, 1}, Case{"5x7", 5, 7},
        Case{"3x100", 3, 100}}) {
    std::vector<int32_t> lengths = {0, int32_t(time), 1, int32_t(time / 2)};
    std::vector<T> x = random<T>(4 * time * channels, 1), y(x.size()),
                   expected(x.size());
    for (int64_t i = 0; i < int64_t(x.size()); ++i) {
      bool valid = i / channels % time < lengths[i / channels / time];
      if (!valid)
        x[i] = i % 2 ? std::numeric_limits<T>::quiet_NaN()
                     : -std::numeric_limits<T>::infinity();
      expected[i] = valid ? x[i] : T(0);
    }
    Kernel kernel = compiled["k" + std::string(shape)];
    run(kernel, {x, lengths, y});
    expectSame(y, expected, shape);
    run(kernel, {x, lengths, x});
    expectSame(x, expected, "in place");
  }
}

TYPED_TEST(Shape, FullAndScalars) {
  using T = TypeParam;
  Compiled compiled(fill(R"(
    func.func private @full() -> tensor<7x5x$T> attributes {rt.kernel} {
      %y = tts.full 2.5 : tensor<7x5x$T>
      return %y : tensor<7x5x$T>
    }
    func.func private @scalar(%x: tensor<$T>) -> tensor<$T> attributes {rt.kernel} {
      %c = tts.full 3.0 : tensor<$T>
      %y = tts.mul %x, %c : tensor<$T>
      return %y : tensor<$T>
    }
    func.func private @copies(%x: tensor<70x$T>) -> (tensor<70x$T>, tensor<70x$T>) attributes {rt.kernel} {
      %y = tts.neg %x : tensor<70x$T>
      return %y, %x : tensor<70x$T>, tensor<70x$T>
    })",
                         {{"T", nameOf<T>()}}));
  std::vector<T> y(35), one = {T(4)}, out(1);
  run(compiled["full"], {y});
  expectSame(y, std::vector<T>(35, T(2.5)));
  run(compiled["scalar"], {one, out});
  EXPECT_EQ(out[0], T(12));
  std::vector<T> x = random<T>(70, 1), negative(70), copy(70);
  run(compiled["copies"], {x, negative, copy});
  expectSame(copy, x);
  EXPECT_EQ(negative[69], -x[69]);
}

TEST(Cast, IntegersAndFloats) {
  Compiled compiled(R"(
    func.func private @i32(%x: tensor<33xi32>) -> tensor<33xf32> attributes {rt.kernel} {
      %y = tts.cast %x : tensor<33xi32> to tensor<33xf32>
      return %y : tensor<33xf32>
    }
    func.func private @i64(%x: tensor<33xi64>) -> tensor<33xf64> attributes {rt.kernel} {
      %y = tts.cast %x : tensor<33xi64> to tensor<33xf64>
      return %y : tensor<33xf64>
    }
    func.func private @narrow(%x: tensor<33xf64>) -> tensor<33xf32> attributes {rt.kernel} {
      %y = tts.cast %x : tensor<33xf64> to tensor<33xf32>
      return %y : tensor<33xf32>
    }
    func.func private @wide(%x: tensor<33xf32>) -> tensor<33xf64> attributes {rt.kernel} {
      %y = tts.cast %x : tensor<33xf32> to tensor<33xf64>
      return %y : tensor<33xf64>
    })");
  std::vector<int32_t> i32(33, -16777217);
  std::vector<int64_t> i64(33, 1234567890123);
  std::vector<float> f32(33), expected32(33, float(-16777217));
  std::vector<double> f64(33), expected64(33, 1234567890123.0);
  run(compiled["i32"], {i32, f32});
  expectSame(f32, expected32);
  run(compiled["i64"], {i64, f64});
  expectSame(f64, expected64);
  f64 = random<double>(33, 1);
  for (int i = 0; i < 33; ++i)
    expected32[i] = float(f64[i]);
  run(compiled["narrow"], {f64, f32});
  expectSame(f32, expected32);
  for (int i = 0; i < 33; ++i)
    expected64[i] = double(f32[i]);
  run(compiled["wide"], {f32, f64});
  expectSame(f64, expected64);
}

/// bias, relu, mask and dropout's kin in one kernel, then what a reader of the
/// parts would get: fusing changes no bit.
TYPED_TEST(Shape, FusedGraphHasTheBitsOfItsParts) {
  using T = TypeParam;
  Compiled compiled(fill(R"(
    func.func private @fused(%x: tensor<3x5x33x$T>, %b: tensor<33x$T>, %n: tensor<3xi32>)
        -> (tensor<3x5x33x$T>, tensor<3x5x33x$T>) attributes {rt.kernel} {
      %bb = tts.broadcast %b dims [2] : tensor<33x$T> to tensor<3x5x33x$T>
      %0 = tts.add %x, %bb : tensor<3x5x33x$T>
      %1 = tts.gelu %0 : tensor<3x5x33x$T>
      %2 = tts.mask %1, %n : tensor<3x5x33x$T>, tensor<3xi32>
      return %0, %2 : tensor<3x5x33x$T>, tensor<3x5x33x$T>
    }
    func.func private @bias(%x: tensor<3x5x33x$T>, %b: tensor<33x$T>) -> tensor<3x5x33x$T> attributes {rt.kernel} {
      %bb = tts.broadcast %b dims [2] : tensor<33x$T> to tensor<3x5x33x$T>
      %0 = tts.add %x, %bb : tensor<3x5x33x$T>
      return %0 : tensor<3x5x33x$T>
    }
    func.func private @gelu(%x: tensor<3x5x33x$T>) -> tensor<3x5x33x$T> attributes {rt.kernel} {
      %0 = tts.gelu %x : tensor<3x5x33x$T>
      return %0 : tensor<3x5x33x$T>
    })",
                         {{"T", nameOf<T>()}}));
  std::vector<T> x = random<T>(495, 1), b = random<T>(33, 2);
  std::vector<T> sum(495), y(495), partSum(495), part(495);
  std::vector<int32_t> lengths = {5, 0, 2};
  run(compiled["fused"], {x, b, lengths, sum, y});
  run(compiled["bias"], {x, b, partSum});
  run(compiled["gelu"], {partSum, part});
  for (int64_t i = 0; i < 495; ++i)
    if (i / 33 % 5 >= lengths[i / 165])
      part[i] = 0;
  expectSame(sum, partSum);
  expectSame(y, part);
  // The second result in the storage of the operand, as the planner may do.
  Kernel kernel = compiled["fused"];
  run(kernel, {x, b, lengths, sum, x});
  expectSame(x, part);
}

} // namespace
