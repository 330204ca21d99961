//===- TimeTest.cpp - the length regulator and its gradient ---------------===//

#include "Compiled.h"

using namespace tts::test;

namespace {

template <typename T> class Time : public ::testing::Test {};
TYPED_TEST_SUITE(Time, FloatTypes);

TYPED_TEST(Time, LengthRegulateAndItsGradient) {
  using T = TypeParam;
  for (int64_t channels : {1, 7, 31, 32, 33, 100}) {
    Compiled compiled(
        fill(R"(
      func.func private @k(%x: tensor<4x3x$Cx$T>, %d: tensor<4x3xi32>) -> tensor<4x9x$Cx$T> attributes {rt.kernel} {
        %y = tts.length_regulate %x, %d : tensor<4x3x$Cx$T>, tensor<4x3xi32> to tensor<4x9x$Cx$T>
        return %y : tensor<4x9x$Cx$T>
      }
      func.func private @grad(%dy: tensor<4x9x$Cx$T>, %d: tensor<4x3xi32>) -> tensor<4x3x$Cx$T> attributes {rt.kernel} {
        %dx = tts.length_regulate_grad %dy, %d : tensor<4x9x$Cx$T>, tensor<4x3xi32> to tensor<4x3x$Cx$T>
        return %dx : tensor<4x3x$Cx$T>
      })",
             {{"C", std::to_string(channels)}, {"T", nameOf<T>()}}));
    // Shorter than the frames, none at all, too long, with negative ones.
    std::vector<int32_t> durations = {2, 0, 3,          0,  0, 0,
                                      4, 4, 2000000000, -5, 1, 8};
    std::vector<T> x = random<T>(12 * channels, 1),
                   dy = random<T>(36 * channels, 2);
    std::vector<T> y(36 * channels, T(-1)), dx(12 * channels, T(-1));
    std::vector<T> expected(y.size()), expectedDx(dx.size());
    for (int64_t b = 0; b < 4; ++b) {
      int64_t time = 0;
      for (int64_t n = 0; n < 3; ++n)
        for (int64_t d = 0; d < durations[b * 3 + n] && time < 9; ++d, ++time)
          for (int64_t c = 0; c < channels; ++c) {
            expected[(b * 9 + time) * channels + c] =
                x[(b * 3 + n) * channels + c];
            expectedDx[(b * 3 + n) * channels + c] +=
                dy[(b * 9 + time) * channels + c];
          }
    }
    run(compiled["k"], {x, durations, y});
    expectSame(y, expected, "y");
    run(compiled["grad"], {dy, durations, dx});
    expectSame(dx, expectedDx, "dx");
  }
}

} // namespace
