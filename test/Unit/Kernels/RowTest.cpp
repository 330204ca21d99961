//===- RowTest.cpp - rows with what they are made of and what follows ----===//
//
// A kernel of a row op and of the pointwise ops around it gives the bits of the
// ops one by one: where computed operands wait in a result's memory for the
// passes that follow, where they are computed again, and where none is made
// twice.
//
//===----------------------------------------------------------------------===//

#include "Compiled.h"

using namespace tts::test;

namespace {

template <typename T> class Rows : public ::testing::Test {};
TYPED_TEST_SUITE(Rows, FloatTypes);

constexpr int64_t kRows = 6; // 2 utterances of 3
const int64_t kColumns[] = {1, 31, 32, 33, 100};

/// A function of the types of rows ($V), of their numbers ($R), of columns
/// ($C).
template <typename T>
std::string kernel(const std::string &name, const std::string &arguments,
                   const std::string &results, const std::string &body,
                   const std::string &returned, int64_t columns) {
  std::string c = std::to_string(columns), t = nameOf<T>();
  return fill("func.func private @" + name + "(" + arguments + ") -> (" +
                  results + ") attributes {rt.kernel} {\n" + body +
                  "\nreturn " + returned + " : " + results + "\n}\n",
              {{"V", "tensor<2x3x" + c + "x" + t + ">"},
               {"R", "tensor<2x3x" + t + ">"},
               {"C", "tensor<" + c + "x" + t + ">"},
               {"T", "tensor<" + t + ">"}});
}

const std::string kSum = R"(
  %bias = tts.broadcast %b dims [2] : $C to $V
  %biased = tts.add %x, %bias : $V
  %dropped = tts.dropout %biased, %u, %draw {rate = 0.4 : f64, stream = "s"} : $V, tensor<2xi64>, tensor<2xi64>
  %sum = tts.add %dropped, %r : $V)";
const std::string kNorm = R"(
  %y, %m, %s = tts.layer_norm %sum, %g, %b {epsilon = 1.0e-5 : f64} : $V, $C to $R)";
const std::string kRms = R"(
  %y, %s = tts.rms_norm %sum, %g {epsilon = 1.0e-5 : f64} : $V, $C to $R)";
const std::string kAfter =
    "\n%z = tts.mask %y, %n : $V, tensor<2xi32>\n%w = tts.add %z, %r : $V";
const std::string kArguments =
    "%x: $V, %r: $V, %b: $C, %g: $C, %u: tensor<2xi64>, %draw: tensor<2xi64>, "
    "%n: tensor<2xi32>";

/// Forward: a residual sum with dropout, its norm, a mask, another sum.
TYPED_TEST(Rows, ForwardIsTheSameOpsOneByOne) {
  using T = TypeParam;
  for (int64_t columns : kColumns) {
    auto make = [&](const std::string &name, const std::string &arguments,
                    const std::string &results, const std::string &body,
                    const std::string &returned) {
      return kernel<T>(name, arguments, results, body, returned, columns);
    };
    Compiled compiled(
        make("sum", kArguments, "$V", kSum, "%sum") +
        make("norm", "%sum: $V, %b: $C, %g: $C", "$V, $R, $R", kNorm,
             "%y, %m, %s") +
        make("rms", "%sum: $V, %g: $C", "$V, $R", kRms, "%y, %s") +
        make("after", "%y: $V, %r: $V, %n: tensor<2xi32>", "$V", kAfter, "%w") +
        make("all", kArguments, "$R, $R, $V", kSum + kNorm + kAfter,
             "%m, %s, %w") +
        make("all_rms", kArguments, "$R, $V", kSum + kRms + kAfter, "%s, %w") +
        // What is made of the row is of another type: nowhere to keep the sum.
        make("cast", kArguments,
             "tensor<2x3x" + std::to_string(columns) + "xbf16>",
             kSum + kNorm + "\n%h = tts.cast %y : $V to tensor<2x3x" +
                 std::to_string(columns) + "xbf16>",
             "%h") +
        make("half", "%y: $V",
             "tensor<2x3x" + std::to_string(columns) + "xbf16>",
             "%h = tts.cast %y : $V to tensor<2x3x" + std::to_string(columns) +
                 "xbf16>",
             "%h"));
    size_t count = kRows * columns;
    std::vector<T> x = random<T>(count, 1), r = random<T>(count, 2),
                   b = random<T>(columns, 3), g = random<T>(columns, 4);
    std::vector<int64_t> u = {5, 8}, draw = {3, 4};
    std::vector<int32_t> n = {2, 3};
    std::vector<T> sum(count), y(count), m(kRows), s(kRows), w(count);
    run(compiled["sum"], {x, r, b, g, u, draw, n, sum});
    run(compiled["norm"], {sum, b, g, y, m, s});
    run(compiled["after"], {y, r, n, w});
    std::vector<T> fM(kRows), fS(kRows), fW(count);
    run(compiled["all"], {x, r, b, g, u, draw, n, fM, fS, fW});
    expectSame(fM, m, "mean");
    expectSame(fS, s, "rstd");
    expectSame(fW, w, "end");
    std::vector<uint16_t> half(count), fHalf(count);
    run(compiled["half"], {y, half});
    run(compiled["cast"], {x, r, b, g, u, draw, n, fHalf});
    EXPECT_EQ(half, fHalf);
    run(compiled["rms"], {sum, g, y, s});
    run(compiled["after"], {y, r, n, w});
    run(compiled["all_rms"], {x, r, b, g, u, draw, n, fS, fW});
    expectSame(fS, s, "rstd of RMS");
    expectSame(fW, w, "end of RMS");
  }
}

const std::string kBefore = R"(
  %both = tts.add %a, %c : $V
  %dy = tts.mask %both, %n : $V, tensor<2xi32>
  %x = tts.exp %p : $V)";
const std::string kBack =
    "\n%dx = tts.layer_norm_grad %dy, %x, %m, %s, %g : $V, $R, $C";
const std::string kBackRms =
    "\n%dx = tts.rms_norm_grad %dy, %x, %s, %g : $V, $R, $C";
const std::string kEnd = "\n%d = tts.add %dx, %a : $V";
const std::string kBackArguments = "%a: $V, %c: $V, %p: $V, %m: $R, %s: $R, "
                                   "%g: $C, %n: tensor<2xi32>";

/// Backward: two rows are computed, of which one waits in the result's memory.
TYPED_TEST(Rows, BackwardIsTheSameOpsOneByOne) {
  using T = TypeParam;
  for (int64_t columns : kColumns) {
    auto make = [&](const std::string &name, const std::string &arguments,
                    const std::string &results, const std::string &body,
                    const std::string &returned) {
      return kernel<T>(name, arguments, results, body, returned, columns);
    };
    std::string given = "%dy: $V, %x: $V, %m: $R, %s: $R, %g: $C";
    Compiled compiled(
        make("before", kBackArguments, "$V, $V", kBefore, "%dy, %x") +
        make("grad", given, "$V", kBack, "%dx") +
        make("rms", given, "$V", kBackRms, "%dx") +
        make("end", "%dx: $V, %a: $V", "$V", kEnd, "%d") +
        make("all", kBackArguments, "$V", kBefore + kBack + kEnd, "%d") +
        make("no_end", kBackArguments, "$V", kBefore + kBack, "%dx") +
        make("all_rms", kBackArguments, "$V", kBefore + kBackRms + kEnd, "%d"));
    size_t count = size_t(kRows * columns);
    std::vector<T> a = random<T>(count, 1), c = random<T>(count, 2),
                   p = random<T>(count, 3), m = random<T>(kRows, 4),
                   s = random<T>(kRows, 5), g = random<T>(columns, 6);
    std::vector<int32_t> n = {2, 3};
    std::vector<T> dy(count), x(count), dx(count), d(count), fused(count);
    run(compiled["before"], {a, c, p, m, s, g, n, dy, x});
    run(compiled["grad"], {dy, x, m, s, g, dx});
    run(compiled["no_end"], {a, c, p, m, s, g, n, fused});
    expectSame(fused, dx, "dx");
    run(compiled["end"], {dx, a, d});
    run(compiled["all"], {a, c, p, m, s, g, n, fused});
    expectSame(fused, d, "end");
    run(compiled["rms"], {dy, x, m, s, g, dx});
    run(compiled["end"], {dx, a, d});
    run(compiled["all_rms"], {a, c, p, m, s, g, n, fused});
    expectSame(fused, d, "end of RMS");
  }
}

/// Sums of what the kernel computes: columns, rows, over time, of all.
TYPED_TEST(Rows, SumsOfComputedRows) {
  using T = TypeParam;
  const std::string before = R"(
    %masked = tts.mask %a, %n : $V, tensor<2xi32>
    %q = tts.mul %masked, %b : $V)";
  struct Sum {
    std::string name, result, op;
    int64_t size;
  };
  for (int64_t columns : kColumns) {
    const std::vector<Sum> sums = {
        {"columns", "$C", "sum_to %q dims [2] : $V to $C", columns},
        {"all", "$V", "sum_to %q dims [0, 1, 2] : $V to $V", kRows * columns},
        {"l1", "$T", "l1_loss %q, %b, %n : $V, tensor<2xi32> to $T", 1},
        {"mse", "$T", "mse_loss %b, %q, %n : $V, tensor<2xi32> to $T", 1},
        {"gamma", "$C", "layer_norm_gamma_grad %q, %b, %m, %m : $V, $R to $C",
         columns},
        {"rms", "$C", "rms_norm_gamma_grad %b, %q, %m : $V, $R to $C", columns},
        {"rows", "$R", "sum_to %q dims [0, 1] : $V to $R", kRows},
    };
    std::string text = kernel<T>("mul", "%a: $V, %b: $V, %n: tensor<2xi32>",
                                 "$V", before, "%q", columns);
    std::string rest = ", %b: $V, %m: $R, %n: tensor<2xi32>";
    for (const Sum &sum : sums) {
      std::string op = "\n%y = tts." + sum.op;
      text += kernel<T>("one_" + sum.name, "%q: $V" + rest, sum.result, op,
                        "%y", columns) +
              kernel<T>("fused_" + sum.name, "%a: $V" + rest, sum.result,
                        before + op, "%y", columns);
    }
    Compiled compiled(text);
    size_t count = size_t(kRows * columns);
    std::vector<T> a = random<T>(count, 1), b = random<T>(count, 2),
                   m = random<T>(kRows, 3), q(count);
    std::vector<int32_t> n = {2, 3};
    run(compiled["mul"], {a, b, n, q});
    for (const Sum &sum : sums) {
      std::vector<T> one(sum.size), fused(sum.size);
      run(compiled["one_" + sum.name], {q, b, m, n, one});
      run(compiled["fused_" + sum.name], {a, b, m, n, fused});
      expectSame(fused, one, sum.name);
    }
  }
}

TEST(RowKernels, ASumReturnsNothingElse) {
  EXPECT_EQ(refusal(R"(
    func.func private @k(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>) attributes {rt.kernel} {
      %x = tts.mul %a, %b : tensor<4x8xf32>
      %y = tts.sum_to %x dims [1] : tensor<4x8xf32> to tensor<8xf32>
      return %x, %y : tensor<4x8xf32>, tensor<8xf32>
    })"),
            "a kernel of 'tts.sum_to' returns another op's result");
}

} // namespace
