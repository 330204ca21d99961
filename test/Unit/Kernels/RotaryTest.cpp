//===- RotaryTest.cpp - rotary positions ----------------------------------===//

#include "Compiled.h"

using namespace tts::test;

namespace {

template <typename T> class Rotary : public ::testing::Test {};
TYPED_TEST_SUITE(Rotary, FloatTypes);

constexpr int64_t kBatch = 2, kTime = 5, kHeads = 3;

/// One head's row, or another one, by the angles of `table`.
template <typename T>
std::vector<T> rotated(const std::vector<T> &x, const std::vector<T> &table,
                       int64_t depth, bool inverse) {
  std::vector<T> y(x.size());
  for (int64_t i = 0; i < int64_t(x.size()); i += 2) {
    int64_t time = i / depth / kHeads % kTime;
    T sine = table[time * depth + i % depth],
      cosine = table[time * depth + i % depth + 1];
    T along = x[i] * cosine, across = x[i + 1] * sine;
    T up = x[i + 1] * cosine, back = x[i] * sine;
    y[i] = inverse ? along + across : along - across;
    y[i + 1] = inverse ? up - back : up + back;
  }
  return y;
}

TYPED_TEST(Rotary, RotatesPairs) {
  using T = TypeParam;
  const int64_t depths[] = {2, 6, 32, 34, 64, 100};
  std::string text;
  for (int64_t depth : depths)
    text += fill(R"(
      func.func private @turn$D(%x: tensor<2x5x3x$Dx$T>, %t: tensor<5x$Dx$T>) -> tensor<2x5x3x$Dx$T> attributes {rt.kernel} {
        %y = tts.rotary %x, %t {heads = 1} : tensor<2x5x3x$Dx$T>, tensor<5x$Dx$T>
        return %y : tensor<2x5x3x$Dx$T>
      }
      func.func private @back$D(%x: tensor<2x5x3x$Dx$T>, %t: tensor<5x$Dx$T>) -> tensor<2x5x3x$Dx$T> attributes {rt.kernel} {
        %y = tts.rotary %x, %t {heads = 1, inverse} : tensor<2x5x3x$Dx$T>, tensor<5x$Dx$T>
        return %y : tensor<2x5x3x$Dx$T>
      })",
                 {{"D", std::to_string(depth)}, {"T", nameOf<T>()}});
  Compiled compiled(text);
  for (int64_t depth : depths) {
    auto x = random<T>(kBatch * kTime * kHeads * depth, 1),
         table = random<T>(kTime * depth, 2);
    std::vector<T> y(x.size());
    run(compiled["turn" + std::to_string(depth)], {x, table, y});
    expectSame(y, rotated(x, table, depth, false), "turn");
    run(compiled["back" + std::to_string(depth)], {x, table, y});
    expectSame(y, rotated(x, table, depth, true), "back");
  }
}

/// One head needs no dimension of its own; halves are rotated in the table's
/// type and rounded once.
TEST(RotaryInHalf, OneHead) {
  using T = float;
  Compiled compiled(fill(R"(
    func.func private @k(%x: tensor<2x5x34x$T>, %t: tensor<5x34x$T>) -> tensor<2x5x34xbf16> attributes {rt.kernel} {
      %h = tts.cast %x : tensor<2x5x34x$T> to tensor<2x5x34xbf16>
      %y = tts.rotary %h, %t {heads = 1} : tensor<2x5x34xbf16>, tensor<5x34x$T>
      return %y : tensor<2x5x34xbf16>
    })",
                         {{"T", nameOf<T>()}}));
  // Small whole numbers: every product and sum is exact, one rounding is left.
  std::vector<T> x(2 * 5 * 34), table(5 * 34);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = T(int64_t(i * 7 % 23) - 11);
  for (size_t i = 0; i < table.size(); ++i)
    table[i] = T(int64_t(i * 5 % 19) - 9);
  std::vector<uint16_t> y(x.size());
  run(compiled["k"], {x, table, y});
  for (size_t i = 0; i < x.size(); i += 2) {
    size_t at = i / 34 % 5 * 34 + i % 34;
    float expected[] = {float(x[i] * table[at + 1] - x[i + 1] * table[at]),
                        float(x[i + 1] * table[at + 1] + x[i] * table[at])};
    for (int odd : {0, 1}) {
      uint32_t bits;
      std::memcpy(&bits, &expected[odd], sizeof bits);
      EXPECT_EQ(y[i + odd], bits >> 16) << i + odd; // exact below 256
    }
  }
}

} // namespace
