//===- RematTest.cpp - plans against brute force -------------------------===//

#include "tts/Transforms/Plan/Remat.h"

#include "gtest/gtest.h"
#include <random>

using namespace tts::plan;

namespace {

/// `length` operations in a row, each read by one step, last first.
RematProblem makeChain(unsigned length, int64_t bytes = 10,
                       double seconds = 1) {
  RematProblem problem;
  problem.ops.resize(1 + length);
  problem.ops[0].isFree = true;
  for (unsigned i = 1; i <= length; ++i) {
    problem.ops[i].bytes = bytes;
    problem.ops[i].seconds = seconds;
    problem.ops[i].operands = {i - 1};
  }
  for (unsigned i = length; i > 0; --i) {
    problem.steps.emplace_back();
    problem.steps.back().uses = {i};
    problem.steps.back().liveBefore = 1;
    problem.steps.back().liveDuring = 2;
  }
  return problem;
}

TEST(Remat, KeepingAllIsForwardsStash) {
  RematProblem problem = makeChain(4);
  RematPlan plan =
      runRemat(problem, holdKept(problem, {true, true, true, true, true}));
  EXPECT_EQ(plan.kept, (std::vector<unsigned>{1, 2, 3, 4}));
  EXPECT_TRUE(plan.clones.empty());
  EXPECT_EQ(plan.seconds, 0);
  EXPECT_EQ(plan.keptBytes, 40);
  EXPECT_EQ(plan.backwardPeak, 42);
  EXPECT_EQ(plan.forwardPeak, 40);
  EXPECT_EQ(plan.peakStep, 0u);
}

TEST(Remat, AChainIsComputedOnceFromItsKeptStart) {
  RematProblem problem = makeChain(4);
  RematPlan plan =
      runRemat(problem, holdKept(problem, {false, true, false, false, true}));
  EXPECT_EQ(plan.kept, (std::vector<unsigned>{1, 4}));
  ASSERT_EQ(plan.clones.size(), 2u);
  EXPECT_EQ(plan.clones[0].op, 2u);
  EXPECT_EQ(plan.clones[1].op, 3u);
  EXPECT_EQ(plan.clones[0].step, 1u);
  EXPECT_EQ(plan.clones[1].step, 1u);
  EXPECT_EQ(plan.seconds, 2);
  // 1, 2 and 3 are live in step 1, after 4 has died.
  EXPECT_EQ(plan.backwardPeak, 32);
  EXPECT_EQ(plan.peakStep, 1u);
}

TEST(Remat, LadderPeaksFallAndSecondsRise) {
  std::vector<RematPlan> plans = solveRemat(makeChain(16));
  ASSERT_GE(plans.size(), 2u);
  EXPECT_EQ(plans[0].seconds, 0);
  EXPECT_EQ(plans[0].peakBytes(), 162);
  for (size_t i = 1; i < plans.size(); ++i) {
    EXPECT_LT(plans[i].peakBytes(), plans[i - 1].peakBytes());
    EXPECT_GT(plans[i].seconds, plans[i - 1].seconds);
  }
}

} // namespace
