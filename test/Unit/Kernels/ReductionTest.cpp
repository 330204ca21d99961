//===- ReductionTest.cpp - sums in their canonical order, counts ----------===//

#include "Compiled.h"

using namespace tts::test;

namespace {

template <typename T> class Reduction : public ::testing::Test {};
TYPED_TEST_SUITE(Reduction, FloatTypes);

const int64_t kColumns[] = {1, 7, 31, 32, 33, 100};

template <typename T> std::string rowAndColumnKernels() {
  std::string text;
  for (int64_t columns : kColumns)
    text += fill(R"(
      func.func private @rows$C(%x: tensor<3x5x$Cx$T>) -> tensor<3x5x$T> attributes {rt.kernel} {
        %y = tts.sum_to %x dims [0, 1] : tensor<3x5x$Cx$T> to tensor<3x5x$T>
        return %y : tensor<3x5x$T>
      }
      func.func private @planes$C(%x: tensor<3x5x$Cx$T>, %a: tensor<3x$T>) -> (tensor<3x$T> {rt.tied = 1 : i64}) attributes {rt.kernel} {
        %y = tts.sum_to %x dims [0] into %a : tensor<3x$T> : tensor<3x5x$Cx$T> to tensor<3x$T>
        return %y : tensor<3x$T>
      }
      func.func private @columns$C(%x: tensor<3x5x$Cx$T>) -> tensor<$Cx$T> attributes {rt.kernel} {
        %y = tts.sum_to %x dims [2] : tensor<3x5x$Cx$T> to tensor<$Cx$T>
        return %y : tensor<$Cx$T>
      }
      func.func private @into$C(%x: tensor<3x5x$Cx$T>, %a: tensor<$Cx$T>) -> (tensor<$Cx$T> {rt.tied = 1 : i64}) attributes {rt.kernel} {
        %y = tts.sum_to %x dims [2] into %a : tensor<$Cx$T> : tensor<3x5x$Cx$T> to tensor<$Cx$T>
        return %y : tensor<$Cx$T>
      }
      func.func private @all$C(%x: tensor<3x5x$Cx$T>) -> tensor<$T> attributes {rt.kernel} {
        %y = tts.sum_to %x dims [] : tensor<3x5x$Cx$T> to tensor<$T>
        return %y : tensor<$T>
      }
      func.func private @keep$C(%x: tensor<$Cx$T>, %a: tensor<$Cx$T>) -> (tensor<$Cx$T> {rt.tied = 1 : i64}) attributes {rt.kernel} {
        %y = tts.sum_to %x dims [0] into %a : tensor<$Cx$T> : tensor<$Cx$T> to tensor<$Cx$T>
        return %y : tensor<$Cx$T>
      }
      func.func private @squares$C(%x: tensor<3x5x$Cx$T>, %a: tensor<$T>) -> (tensor<$T> {rt.tied = 1 : i64}) attributes {rt.kernel} {
        %y = tts.sum_squares %x into %a : tensor<$T> : tensor<3x5x$Cx$T> to tensor<$T>
        return %y : tensor<$T>
      })",
                 {{"C", std::to_string(columns)}, {"T", nameOf<T>()}});
  return text;
}

/// Rows r, r+8, … of a column, then 4 with 4, 2, 1.
template <typename T>
T columnSum(const std::vector<T> &x, int64_t columns, int64_t c) {
  T lanes[8] = {};
  for (int64_t r = 0; r < 15; ++r)
    lanes[r % 8] += x[r * columns + c];
  for (int half = 4; half; half /= 2)
    for (int l = 0; l < half; ++l)
      lanes[l] += lanes[l + half];
  return lanes[0];
}

TYPED_TEST(Reduction, SumsInTheCanonicalOrder) {
  using T = TypeParam;
  Compiled compiled(rowAndColumnKernels<T>());
  for (int64_t columns : kColumns) {
    std::string suffix = std::to_string(columns);
    std::vector<T> x = random<T>(15 * columns, 1);
    auto term = [&](int64_t first) {
      return [&x, first](int64_t i) { return x[first + i]; };
    };
    std::vector<T> rows(15), expectedRows(15);
    for (int64_t r = 0; r < 15; ++r)
      expectedRows[r] = laneSum<T>(1, columns, term(r * columns));
    run(compiled["rows" + suffix], {x, rows});
    expectSame(rows, expectedRows, "rows");

    std::vector<T> planes = random<T>(3, 2), expectedPlanes(3);
    for (int64_t p = 0; p < 3; ++p)
      expectedPlanes[p] =
          planes[p] + laneSum<T>(5, columns, term(p * 5 * columns));
    run(compiled["planes" + suffix], {x, planes});
    expectSame(planes, expectedPlanes, "planes");

    std::vector<T> sums(columns), into = random<T>(columns, 3);
    std::vector<T> expected(columns), expectedInto(columns);
    for (int64_t c = 0; c < columns; ++c) {
      expected[c] = columnSum(x, columns, c);
      expectedInto[c] = into[c] + expected[c];
    }
    run(compiled["columns" + suffix], {x, sums});
    expectSame(sums, expected, "columns");
    run(compiled["into" + suffix], {x, into});
    expectSame(into, expectedInto, "into");
  }
}

TYPED_TEST(Reduction, OneNumber) {
  using T = TypeParam;
  Compiled compiled(rowAndColumnKernels<T>());
  for (int64_t columns : kColumns) {
    std::string suffix = std::to_string(columns);
    std::vector<T> x = random<T>(15 * columns, 1), y(1), squares = {T(0.5)};
    run(compiled["all" + suffix], {x, y});
    expectSame(y,
               {laneSum<T>(1, 15 * columns, [&](int64_t i) { return x[i]; })});
    T expected = T(0.5) + laneSum<T>(1, 15 * columns,
                                     [&](int64_t i) { return x[i] * x[i]; });
    run(compiled["squares" + suffix], {x, squares});
    expectSame(squares, {expected});
    std::vector<T> some(x.begin(), x.begin() + columns),
        kept = random<T>(columns, 2);
    std::vector<T> expectedKept(columns);
    for (int64_t c = 0; c < columns; ++c)
      expectedKept[c] = kept[c] + some[c];
    run(compiled["keep" + suffix], {some, kept});
    expectSame(kept, expectedKept);
  }
}

/// The operand of a sum may be made by maps in the same kernel.
TYPED_TEST(Reduction, SumsWhatMapsMake) {
  using T = TypeParam;
  Compiled compiled(fill(R"(
    func.func private @k(%x: tensor<3x5x33x$T>, %n: tensor<3xi32>) -> tensor<33x$T> attributes {rt.kernel} {
      %0 = tts.mul %x, %x : tensor<3x5x33x$T>
      %1 = tts.mask %0, %n : tensor<3x5x33x$T>, tensor<3xi32>
      %y = tts.sum_to %1 dims [2] : tensor<3x5x33x$T> to tensor<33x$T>
      return %y : tensor<33x$T>
    })",
                         {{"T", nameOf<T>()}}));
  std::vector<T> x = random<T>(495, 1), masked(495), y(33), expected(33);
  std::vector<int32_t> lengths = {4, 0, 5};
  for (int64_t i = 0; i < 495; ++i)
    masked[i] = i / 33 % 5 < lengths[i / 165] ? x[i] * x[i] : T(0);
  for (int64_t c = 0; c < 33; ++c)
    expected[c] = columnSum(masked, 33, c);
  run(compiled["k"], {x, lengths, y});
  expectSame(y, expected);
}

TYPED_TEST(Reduction, CountOfSteps) {
  using T = TypeParam;
  Compiled compiled(fill(R"(
    func.func private @k(%n: tensor<5xi32>) -> tensor<$T> attributes {rt.kernel} {
      %y = tts.count %n {per = 80.0 : f64} : tensor<5xi32> to tensor<$T>
      return %y : tensor<$T>
    })",
                         {{"T", nameOf<T>()}}));
  std::vector<int32_t> lengths = {0, 7, 576, 0, 1};
  std::vector<T> y(1);
  run(compiled["k"], {lengths, y});
  EXPECT_EQ(y[0], T(584 * 80));
}

} // namespace
