//===- FusionGroupsTest.cpp - which ops become one kernel -----------------===//

#include "tts/Analysis/FusionGroups.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tts;

namespace {
class FusionGroupsTest : public ::testing::Test {
protected:
  FusionGroupsTest() { context.loadDialect<func::FuncDialect, TtsDialect>(); }

  /// The groups of a function's body, each as its ops' names, a bar, the number
  /// of its results and, if there are several, of its parts.
  std::string groups(const std::string &function, bool fuse = true) {
    module = parseSourceString<ModuleOp>(function, &context);
    EXPECT_TRUE(module) << function;
    auto func = *module->getOps<func::FuncOp>().begin();
    std::string text;
    for (const FusionGroup &group :
         computeFusionGroups(func.getBody().front(), fuse)) {
      for (Operation *op : group.ops)
        text += op->getName().stripDialect().str() + " ";
      text += "| " + std::to_string(group.results.size());
      if (group.parts > 1)
        text += " of " + std::to_string(group.parts);
      text += "\n";
    }
    return text;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

/// The updates of `count` parameters, as Differentiate writes them.
std::string updates(int count, bool averages) {
  std::string arguments = "%s: tensor<8xf32>, %c: tensor<f32>", ops, results,
              types;
  for (int i = 0; i < count; ++i) {
    std::string n = std::to_string(i),
                t = "tensor<" + std::to_string(i + 1) + "xf32>";
    for (const char *name : {"p", "g", "m", "v", "e"})
      arguments += ", %" + (name + n) + ": " + t;
    ops += "%np" + n + ", %nm" + n + ", %nv" + n + " = tts.adamw %p" + n +
           ", %g" + n + ", %m" + n + ", %v" + n + ", %s, %c : " + t +
           ", tensor<8xf32>, tensor<f32>\n";
    results += (i ? ", %np" : "%np") + n + ", %nm" + n + ", %nv" + n;
    types += (i ? ", " : "") + t + ", " + t + ", " + t;
    if (!averages)
      continue;
    ops += "%ne" + n + " = tts.ema %e" + n + ", %np" + n + ", %s, %c : " + t +
           ", tensor<8xf32>, tensor<f32>\n";
    results += ", %ne" + n;
    types += ", " + t;
  }
  return "func.func @f(" + arguments + ") -> (" + types + ") {\n" + ops +
         "return " + results + " : " + types + "\n}";
}

TEST_F(FusionGroupsTest, AllParametersAreUpdatedInOneKernel) {
  EXPECT_EQ(groups(updates(2, false)), "adamw adamw | 6 of 2\n");
  EXPECT_EQ(groups(updates(2, true)), "adamw ema adamw ema | 8 of 2\n");
  EXPECT_EQ(groups(updates(2, true), false),
            "adamw | 3\nema | 1\nadamw | 3\nema | 1\n");
}

TEST_F(FusionGroupsTest, AKernelTakesAtMostFiveHundredTensors) {
  // Five of each parameter, two of all.
  std::string text = groups(updates(100, true));
  EXPECT_NE(text.find("396 of 99\n"), std::string::npos) << text;
  EXPECT_NE(text.find("adamw ema | 4\n"), std::string::npos) << text;
}

TEST_F(FusionGroupsTest, DifferentSettingsAreDifferentKernels) {
  EXPECT_EQ(groups(R"(
    func.func @f(%p: tensor<2xf32>, %q: tensor<3xf32>, %g: tensor<2xf32>, %h: tensor<3xf32>,
                 %s: tensor<8xf32>, %z: tensor<8xf32>, %c: tensor<f32>) -> (tensor<2xf32>, tensor<3xf32>) {
      %0 = tts.sgd %p, %g, %s, %c : tensor<2xf32>, tensor<8xf32>, tensor<f32>
      %1 = tts.sgd %q, %h, %z, %c : tensor<3xf32>, tensor<8xf32>, tensor<f32>
      return %0, %1 : tensor<2xf32>, tensor<3xf32>
    })"),
            "sgd | 1\nsgd | 1\n");
}

TEST_F(FusionGroupsTest, WhatWaitsForAnotherIsNotBesideIt) {
  // The second update reads the first one's norm by way of its factor.
  EXPECT_EQ(groups(R"(
    func.func @f(%x: tensor<2xf32>, %y: tensor<2xf32>, %z: tensor<3xf32>, %s: tensor<8xf32>, %c: tensor<f32>)
        -> (tensor<2xf32>, tensor<f32>, tensor<2xf32>) {
      %0 = tts.sgd %x, %y, %s, %c : tensor<2xf32>, tensor<8xf32>, tensor<f32>
      %1 = tts.sum_squares %0 : tensor<2xf32> to tensor<f32>
      %2 = tts.sgd %y, %x, %s, %1 : tensor<2xf32>, tensor<8xf32>, tensor<f32>
      return %0, %1, %2 : tensor<2xf32>, tensor<f32>, tensor<2xf32>
    })"),
            "sgd | 1\nsum_squares | 1\nsgd | 1\n");
  // Into an accumulator: the first one's result.
  EXPECT_EQ(groups(R"(
    func.func @f(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<f32> {
      %0 = tts.sum_squares %x : tensor<2xf32> to tensor<f32>
      %1 = tts.sum_squares %y into %0 : tensor<f32> : tensor<2xf32> to tensor<f32>
      return %1 : tensor<f32>
    })"),
            "sum_squares | 1\nsum_squares | 1\n");
  // By way of another op, behind two that are side by side already.
  EXPECT_EQ(groups(R"(
    func.func @f(%x: tensor<2xf32>, %y: tensor<3xf32>, %z: tensor<4xf32>, %a: tensor<f32>, %b: tensor<f32>)
        -> (tensor<f32>, tensor<f32>) {
      %0 = tts.sum_squares %x into %a : tensor<f32> : tensor<2xf32> to tensor<f32>
      %1 = tts.sum_squares %y into %b : tensor<f32> : tensor<3xf32> to tensor<f32>
      %2 = tts.exp %0 : tensor<f32>
      %3 = tts.sum_squares %z into %2 : tensor<f32> : tensor<4xf32> to tensor<f32>
      return %1, %3 : tensor<f32>, tensor<f32>
    })"),
            "sum_squares sum_squares | 2 of 2\nexp | 1\nsum_squares | 1\n");
}

TEST_F(FusionGroupsTest, WhatIsReadSideBySideWouldLiveTogether) {
  // Gradients that die with their update: side by side, none died before the
  // last is there.
  EXPECT_EQ(groups(R"(
    func.func @f(%p: tensor<2xf32>, %q: tensor<3xf32>, %x: tensor<2xf32>, %y: tensor<3xf32>,
                 %s: tensor<8xf32>, %c: tensor<f32>) -> (tensor<2xf32>, tensor<3xf32>) {
      %g = tts.exp %x : tensor<2xf32>
      %0 = tts.sgd %p, %g, %s, %c : tensor<2xf32>, tensor<8xf32>, tensor<f32>
      %h = tts.exp %y : tensor<3xf32>
      %1 = tts.sgd %q, %h, %s, %c : tensor<3xf32>, tensor<8xf32>, tensor<f32>
      return %0, %1 : tensor<2xf32>, tensor<3xf32>
    })"),
            "exp sgd | 1\nexp sgd | 1\n");
  // Nor does it wait until the half copy may be written.
  EXPECT_EQ(groups(R"(
    func.func @f(%p: tensor<2xf32>, %x: tensor<2xf32>, %s: tensor<8xf32>, %c: tensor<f32>)
        -> (tensor<2xf32>, tensor<2xbf16>) {
      %g = tts.exp %x : tensor<2xf32>
      %0 = tts.sgd %p, %g, %s, %c : tensor<2xf32>, tensor<8xf32>, tensor<f32>
      %1 = tts.cast %0 : tensor<2xf32> to tensor<2xbf16>
      return %0, %1 : tensor<2xf32>, tensor<2xbf16>
    })"),
            "exp sgd | 1\ncast | 1\n");
}

TEST_F(FusionGroupsTest, HalfCopiesAreMadeWithTheirParameters) {
  EXPECT_EQ(groups(R"(
    func.func @f(%p: tensor<2xf32>, %g: tensor<2xf32>, %e: tensor<2xf32>, %q: tensor<3xf32>, %h: tensor<3xf32>,
                 %f: tensor<3xf32>, %s: tensor<8xf32>, %c: tensor<f32>)
        -> (tensor<2xf32>, tensor<2xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2xbf16>, tensor<3xbf16>) {
      %0 = tts.sgd %p, %g, %s, %c : tensor<2xf32>, tensor<8xf32>, tensor<f32>
      %1 = tts.ema %e, %0, %s, %c : tensor<2xf32>, tensor<8xf32>, tensor<f32>
      %2 = tts.sgd %q, %h, %s, %c : tensor<3xf32>, tensor<8xf32>, tensor<f32>
      %3 = tts.ema %f, %2, %s, %c : tensor<3xf32>, tensor<8xf32>, tensor<f32>
      %4 = tts.cast %0 : tensor<2xf32> to tensor<2xbf16>
      %5 = tts.cast %2 : tensor<3xf32> to tensor<3xbf16>
      return %0, %1, %2, %3, %4, %5 : tensor<2xf32>, tensor<2xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2xbf16>, tensor<3xbf16>
    })"),
            "sgd ema cast sgd ema cast | 6 of 2\n");
}

TEST_F(FusionGroupsTest, AStateThatHoldsIsAdoptedWithTheOthers) {
  EXPECT_EQ(groups(R"(
    func.func @f(%p: tensor<2xf32>, %n: tensor<2xf32>, %q: tensor<3xf32>, %m: tensor<3xf32>, %c: tensor<f32>)
        -> (tensor<2xf32>, tensor<3xf32>) {
      %0 = tts.adopt %p, %n, %c : tensor<2xf32>, tensor<f32>
      %1 = tts.adopt %q, %m, %c : tensor<3xf32>, tensor<f32>
      return %0, %1 : tensor<2xf32>, tensor<3xf32>
    })"),
            "adopt adopt | 2 of 2\n");
}

TEST_F(FusionGroupsTest, TemporaryZerosAreMadeWhenTheyAreNeeded) {
  EXPECT_EQ(groups(R"(
    func.func @f(%w: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<3xf32>, tensor<4xf32>) {
      %0 = tts.full 0.0 : tensor<2x2xf32>
      %1 = tts.linear %0, %w : tensor<2x2xf32>, tensor<2x2xf32> to tensor<2x2xf32>
      %2 = tts.full 0.0 : tensor<3xf32>
      %3 = tts.full 0.0 : tensor<4xf32>
      return %1, %2, %3 : tensor<2x2xf32>, tensor<3xf32>, tensor<4xf32>
    })"),
            "full | 1\nlinear | 1\nfull full | 2 of 2\n");
}

TEST_F(FusionGroupsTest, ManySingleNumbersAreAddedInOneKernel) {
  std::string arguments, ops;
  for (int i = 0; i < 100; ++i)
    arguments += (i ? ", %x" : "%x") + std::to_string(i) + ": tensor<f32>";
  ops = "%s1 = tts.add %x0, %x1 : tensor<f32>\n";
  for (int i = 2; i < 100; ++i)
    ops += "%s" + std::to_string(i) + " = tts.add %s" + std::to_string(i - 1) +
           ", %x" + std::to_string(i) + " : tensor<f32>\n";
  std::string text =
      groups("func.func @f(" + arguments + ") -> tensor<f32> {\n" + ops +
             "return %s99 : tensor<f32>\n}");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
}

TEST_F(FusionGroupsTest, AFullGroupStillTakesItsConstants) {
  // The twelfth op adds a constant that no other kernel makes.
  std::string ops;
  for (int i = 1; i <= 14; ++i) {
    std::string n = std::to_string(i), before = std::to_string(i - 1);
    ops += "%c" + n + " = tts.full " + n + ".0 : tensor<4xf32>\n%" + n +
           " = tts.add %" + before + ", %c" + n + " : tensor<4xf32>\n";
  }
  std::string text = groups("func.func @f(%0: tensor<4xf32>) -> "
                            "tensor<4xf32> {\n" +
                            ops + "return %14 : tensor<4xf32>\n}");
  // Each stands before the op that reads it.
  for (size_t at = 0; (at = text.find("add", at)) != std::string::npos; ++at)
    EXPECT_EQ(text.substr(at - 5, 5), "full ") << text;
}

TEST_F(FusionGroupsTest, WhatNobodyReadsIsNotComputed) {
  EXPECT_EQ(groups(R"(
    func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = tts.exp %x : tensor<2xf32>
      %1 = tts.neg %0 : tensor<2xf32>
      %2 = tts.relu %0 : tensor<2xf32>
      return %2 : tensor<2xf32>
    })"),
            "exp relu | 1\n");
  // A view stays, and what it is of.
  EXPECT_EQ(groups(R"(
    func.func @f(%x: tensor<2xf32>, %when: tensor<2xf32>) -> tensor<2xf32> {
      %0 = tts.exp %x : tensor<2xf32>
      %1 = tts.recompute_after %0, %when : tensor<2xf32>, tensor<2xf32>
      return %x : tensor<2xf32>
    })"),
            "exp | 1\n");
}

/// A bias, a residual, a norm and a mask, of which VALUES are returned, too.
std::string block(const std::string &values, const std::string &types) {
  std::string text = R"(
    func.func @f(%x: tensor<2x3x8xf32>, %b: tensor<8xf32>, %r: tensor<2x3x8xf32>, %g: tensor<8xf32>, %n: tensor<2xi32>)
        -> (tensor<2x3x8xf32> TYPES) {
      %0 = tts.broadcast %b dims [2] : tensor<8xf32> to tensor<2x3x8xf32>
      %1 = tts.add %x, %0 : tensor<2x3x8xf32>
      %2 = tts.add %1, %r : tensor<2x3x8xf32>
      %y, %mean, %rstd = tts.layer_norm %2, %g, %g {epsilon = 1.0e-05 : f64} : tensor<2x3x8xf32>, tensor<8xf32> to tensor<2x3xf32>
      %3 = tts.mask %y, %n : tensor<2x3x8xf32>, tensor<2xi32>
      return %3 VALUES : tensor<2x3x8xf32> TYPES
    })";
  for (auto [key, value] : {std::pair("VALUES", values), {"TYPES", types}})
    for (size_t at; (at = text.find(key)) != std::string::npos;)
      text.replace(at, std::string(key).size(), value);
  return text;
}

TEST_F(FusionGroupsTest, RowsTakeWhatOnlyTheyReadAndWhatAloneReadsThem) {
  EXPECT_EQ(groups(block("", "")), "broadcast add add layer_norm mask | 1\n");
  EXPECT_EQ(groups(block(", %rstd", ", tensor<2x3xf32>")),
            "broadcast add add layer_norm mask | 2\n");
  EXPECT_EQ(groups(block(", %2", ", tensor<2x3x8xf32>")),
            "broadcast add add | 1\nlayer_norm mask | 1\n");
  EXPECT_EQ(groups(block(", %y", ", tensor<2x3x8xf32>")),
            "broadcast add add layer_norm | 3\nmask | 1\n");
  EXPECT_EQ(groups(block("", ""), false),
            "broadcast add | 1\nadd | 1\nlayer_norm | 3\nmask | 1\n");
}

TEST_F(FusionGroupsTest, SumsBehindAProductStayBesideIt) {
  EXPECT_EQ(groups(R"(
    func.func @f(%x: tensor<2x8xf32>, %w: tensor<8x8xf32>, %r: tensor<2x8xf32>, %g: tensor<8xf32>) -> tensor<2x8xf32> {
      %0 = tts.linear %x, %w : tensor<2x8xf32>, tensor<8x8xf32> to tensor<2x8xf32>
      %1 = tts.add %0, %r : tensor<2x8xf32>
      %y, %d = tts.rms_norm %1, %g {epsilon = 1.0e-05 : f64} : tensor<2x8xf32>, tensor<8xf32> to tensor<2xf32>
      return %y : tensor<2x8xf32>
    })"),
            "linear | 1\nadd | 1\nrms_norm | 2\n");
}

TEST_F(FusionGroupsTest, OneKernelGoesOverRowsOnce) {
  EXPECT_EQ(groups(R"(
    func.func @f(%x: tensor<2x8xf32>, %g: tensor<8xf32>) -> tensor<2x8xf32> {
      %y, %m, %r = tts.layer_norm %x, %g, %g {epsilon = 1.0e-05 : f64} : tensor<2x8xf32>, tensor<8xf32> to tensor<2xf32>
      %0 = tts.relu %y : tensor<2x8xf32>
      %z, %n, %s = tts.layer_norm %0, %g, %g {epsilon = 1.0e-05 : f64} : tensor<2x8xf32>, tensor<8xf32> to tensor<2xf32>
      return %z : tensor<2x8xf32>
    })"),
            "layer_norm | 3\nrelu layer_norm | 3\n");
}

TEST_F(FusionGroupsTest, StatisticsThatTheEndNeedsComeBefore) {
  // Every result of a group is there at the same time.
  EXPECT_EQ(groups(R"(
    func.func @f(%x: tensor<2x8xf32>, %g: tensor<8xf32>) -> tensor<2x8xf32> {
      %y, %r = tts.rms_norm %x, %g {epsilon = 1.0e-05 : f64} : tensor<2x8xf32>, tensor<8xf32> to tensor<2xf32>
      %0 = tts.broadcast %r dims [0] : tensor<2xf32> to tensor<2x8xf32>
      %1 = tts.mul %y, %0 : tensor<2x8xf32>
      return %1 : tensor<2x8xf32>
    })"),
            "rms_norm | 2\nbroadcast mul | 1\n");
  EXPECT_EQ(groups(R"(
    func.func @f(%x: tensor<2x8xf32>, %w: tensor<2x8xf32>, %g: tensor<8xf32>) -> tensor<2x8xf32> {
      %y, %r = tts.rms_norm %x, %g {epsilon = 1.0e-05 : f64} : tensor<2x8xf32>, tensor<8xf32> to tensor<2xf32>
      %0 = tts.rms_norm_grad %w, %x, %r, %g : tensor<2x8xf32>, tensor<2xf32>, tensor<8xf32>
      %1 = tts.relu_grad %y, %0 : tensor<2x8xf32>
      return %1 : tensor<2x8xf32>
    })"),
            "rms_norm | 2\nrms_norm_grad relu_grad | 1\n");
}

TEST_F(FusionGroupsTest, SumsTakeWhatOnlyTheyRead) {
  auto sum = [&](const std::string &more, const std::string &types,
                 const std::string &acc = "%acc") {
    return groups(R"(
    func.func @f(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>, %acc: tensor<8xf32>) -> (tensor<8xf32>)" +
                  types + R"() {
      %0 = tts.mul %x, %y : tensor<4x8xf32>
      %1 = tts.sum_to %0 dims [1] into %acc : tensor<8xf32> : tensor<4x8xf32> to tensor<8xf32>
      return %1)" +
                  more + " : tensor<8xf32>" + types + "\n}");
  };
  EXPECT_EQ(sum("", ""), "mul sum_to | 1\n");
  EXPECT_EQ(sum(", %0", ", tensor<4x8xf32>"), "mul | 1\nsum_to | 1\n");
  // Into what it reads: that is another op's storage.
  EXPECT_EQ(groups(R"(
    func.func @f(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
      %0 = tts.mul %x, %y : tensor<8xf32>
      %1 = tts.sum_to %0 dims [0] into %0 : tensor<8xf32> : tensor<8xf32> to tensor<8xf32>
      return %1 : tensor<8xf32>
    })"),
            "mul | 1\nsum_to | 1\n");
}

/// That sum runs through elements, whatever the shape: its order is that of
/// memory.
TEST_F(FusionGroupsTest, ASumToOneNumberReadsMemory) {
  EXPECT_EQ(groups(R"(
    func.func @f(%x: tensor<4x7xf32>, %b: tensor<7xf32>) -> tensor<f32> {
      %0 = tts.broadcast %b dims [1] : tensor<7xf32> to tensor<4x7xf32>
      %1 = tts.mul %x, %0 : tensor<4x7xf32>
      %2 = tts.sum_to %1 dims [] : tensor<4x7xf32> to tensor<f32>
      return %2 : tensor<f32>
    })"),
            "broadcast mul | 1\nsum_to | 1\n");
}
} // namespace
