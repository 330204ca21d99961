//===- RematGraphTest.cpp - half storage among the plans of two programs --===//

#include "tts/Pipelines/RematGraph.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tts;

namespace {

/// x → h → r → g → y, products and activations between; backward reads h for
/// relu's gradient, r and g for those of weights, and y only for a loss.
constexpr StringLiteral kPrograms = R"(
  func.func @forward(%w: tensor<64x64xf32>, %x: tensor<64x64xf32>, %t: tensor<64x64xf32>, %n: tensor<64xi32>)
      -> (tensor<f32>, tensor<64x64xf32> {tts.stash = "h"}, tensor<64x64xf32> {tts.stash = "r"},
          tensor<64x64xf32> {tts.stash = "g"}, tensor<64x64xf32> {tts.stash = "y"}) {
    %h = tts.linear %x, %w : tensor<64x64xf32>, tensor<64x64xf32> to tensor<64x64xf32> loc("h")
    %r = tts.relu %h : tensor<64x64xf32> loc("r")
    %g = tts.linear %r, %w : tensor<64x64xf32>, tensor<64x64xf32> to tensor<64x64xf32> loc("g")
    %y = tts.linear %g, %w : tensor<64x64xf32>, tensor<64x64xf32> to tensor<64x64xf32> loc("y")
    %l = tts.l1_loss %y, %t, %n : tensor<64x64xf32>, tensor<64xi32> to tensor<f32> loc("l")
    return %l, %h, %r, %g, %y : tensor<f32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
  }
  func.func @backward(%w: tensor<64x64xf32>, %d: tensor<64x64xf32>, %acc: tensor<64x64xf32>,
      %h: tensor<64x64xf32> {tts.stash = "h"}, %r: tensor<64x64xf32> {tts.stash = "r"},
      %g: tensor<64x64xf32> {tts.stash = "g"}, %y: tensor<64x64xf32> {tts.stash = "y"}) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
    %e = tts.mul %y, %d : tensor<64x64xf32> loc("e")
    %a = tts.weight_grad %g, %e into %acc : tensor<64x64xf32> : tensor<64x64xf32>, tensor<64x64xf32> to tensor<64x64xf32> loc("a")
    %b = tts.weight_grad %r, %e into %a : tensor<64x64xf32> : tensor<64x64xf32>, tensor<64x64xf32> to tensor<64x64xf32> loc("b")
    %c = tts.relu_grad %h, %e : tensor<64x64xf32> loc("c")
    return %b, %c : tensor<64x64xf32>, tensor<64x64xf32>
  }
)";

constexpr int64_t kBytes = 64 * 64 * 4;

class RematGraphTest : public ::testing::Test {
protected:
  RematGraphTest() {
    context.loadDialect<func::FuncDialect, TtsDialect>();
    module = parseSourceString<ModuleOp>(kPrograms, &context);
  }

  std::unique_ptr<RematGraph> graph(const HalfStorage &storage) {
    auto function = [&](StringRef name) {
      return module->lookupSymbol<func::FuncOp>(name);
    };
    // A product of 64³ takes as long as moving 5 MB, a cast 25 kB.
    TimeModel time{1e9, 1e10, 1e-9, 1e-9};
    return std::make_unique<RematGraph>(function("forward"),
                                        function("backward"), time, storage);
  }

  HalfStorage bf16(bool everything, bool recompute = true) {
    return {BFloat16Type::get(&context), everything, recompute};
  }

  std::vector<std::string> names(ArrayAttr store) {
    std::vector<std::string> found;
    for (auto item : store.getAsRange<StoreAttr>())
      found.push_back(item.getOp().str());
    return found;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

/// Fewest bytes that any of the plans keeps.
int64_t leastKept(ArrayRef<plan::RematPlan> plans) {
  return llvm::min_element(
             plans, [](auto &a, auto &b) { return a.keptBytes < b.keptBytes; })
      ->keptBytes;
}

} // namespace

TEST_F(RematGraphTest, NothingIsInHalfUnlessAsked) {
  auto plain = graph({});
  for (const plan::RematPlan &plan : plain->solve())
    EXPECT_TRUE(plain->getStore(plan).empty());
}

TEST_F(RematGraphTest, EachValueIsKeptAsItIsOrInHalf) {
  auto half = graph(bf16(/*everything=*/false, /*recompute=*/false));
  ASSERT_EQ(half->getProblem().findFault(), "");
  std::vector<plan::RematPlan> plans = half->solve();
  ASSERT_GE(plans.size(), 2u);
  // The fastest keeps all four as they are.
  EXPECT_EQ(plans.front().seconds, 0);
  EXPECT_EQ(plans.front().keptBytes, 4 * kBytes);
  EXPECT_TRUE(half->getStore(plans.front()).empty());
  // The smallest has three in half; y is a loss's operand in forward.
  auto smallest = llvm::min_element(
      plans, [](auto &a, auto &b) { return a.peakBytes() < b.peakBytes(); });
  EXPECT_EQ(smallest->keptBytes, kBytes + 3 * kBytes / 2);
  EXPECT_EQ(names(half->getStore(*smallest)),
            (std::vector<std::string>{"h", "r", "g"}));
  EXPECT_GT(smallest->seconds, 0);
  for (const plan::RematPlan &plan : plans)
    EXPECT_TRUE(half->getRecompute(plan).empty());
}

TEST_F(RematGraphTest, HalfStorageIsCheaperThanAProduct) {
  auto plain = graph({}), half = graph(bf16(false));
  std::vector<plan::RematPlan> without = plain->solve(), with = half->solve();
  // Never slower at the same peak, and somewhere a product is not computed
  // again since its result is in half.
  bool isFaster = false;
  for (const plan::RematPlan &plan : without) {
    double best = INFINITY;
    for (const plan::RematPlan &other : with)
      if (other.peakBytes() <= plan.peakBytes())
        best = std::min(best, other.seconds);
    EXPECT_LE(best, plan.seconds * 1.001);
    isFaster |= best < 0.5 * plan.seconds;
  }
  EXPECT_TRUE(isFaster);
}

TEST_F(RematGraphTest, WhateverIsKeptIsInHalf) {
  auto all = graph(bf16(/*everything=*/true));
  ASSERT_EQ(all->getProblem().findFault(), "");
  std::vector<plan::RematPlan> plans = all->solve();
  EXPECT_EQ(names(all->getStore(plans.front())),
            (std::vector<std::string>{"h", "r", "g"}));
  EXPECT_LT(leastKept(plans), leastKept(graph({})->solve()));
}

TEST_F(RematGraphTest, ACastIsNoClone) {
  auto half = graph(bf16(false));
  for (const plan::RematPlan &plan : half->solve())
    for (auto item : half->getRecompute(plan).getAsRange<RecomputeAttr>())
      EXPECT_TRUE(llvm::is_contained({"h", "r", "g", "y"}, item.getOp()));
}
