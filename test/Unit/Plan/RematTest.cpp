//===- RematTest.cpp - plans, their measure, and exact optima ------------===//

#include "tts/Transforms/Plan/Remat.h"

#include "RematOracle.h"
#include "RematProblems.h"
#include "gtest/gtest.h"
#include <cmath>
#include <ctime>

using namespace tts::plan;

namespace {

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

TEST(Remat, WhatIsDroppedIsComputedOnceMore) {
  RematProblem problem = makeChain(3);
  RematHolds holds(4);
  holds[1] = {{-1, 0}, {2, 2}};
  holds[3] = {{-1, 0}};
  // 1 serves step 0 only: nothing reads it there, so it is not even kept.
  RematPlan plan = runRemat(problem, holds);
  EXPECT_EQ(plan.kept, (std::vector<unsigned>{3}));
  // 1 and 2 for step 1, 1 again for step 2.
  ASSERT_EQ(plan.clones.size(), 3u);
  EXPECT_EQ(plan.clones[2].op, 1u);
  EXPECT_EQ(plan.clones[2].step, 2u);
  EXPECT_EQ(plan.seconds, 3);
}

TEST(Remat, AViewKeepsItsSourceAlive) {
  RematProblem problem = makeChain(3);
  problem.ops[2].isFree = true;
  problem.ops[2].bytes = 0;
  // Steps 3, 2, 1: let the last one read the view instead of 1.
  problem.steps[2].uses = {2};
  RematPlan plan =
      runRemat(problem, holdKept(problem, {false, true, true, true}));
  EXPECT_EQ(plan.kept, (std::vector<unsigned>{1, 3}));
  EXPECT_TRUE(plan.clones.empty());
  EXPECT_EQ(plan.backwardPeak, 22);
  problem.ops[2].isFree = false;
  plan = runRemat(problem, holdKept(problem, {false, true, false, true}));
  // Computed in step 1 and carried: then 1 has died.
  EXPECT_EQ(plan.clones.size(), 1u);
}

TEST(Remat, AViewForBackwardAloneIsNotRead) {
  // A view of 1 behind everything, as a transposed operand for a gradient is.
  RematProblem problem = makeChain(4);
  RematOp &view = problem.ops.emplace_back();
  view.isFree = true;
  view.operands = {1};
  problem.steps[3].uses = {5};
  RematPlan plan = runRemat(
      problem, holdKept(problem, {false, false, false, false, true, false}));
  EXPECT_EQ(plan.forwardPeak, 20);
  // Nor is it a reason to run all of forward before the last steps.
  RematProblem plain = makeChain(100), viewed = plain;
  for (unsigned i = 1; i <= 100; ++i) {
    RematOp &added = viewed.ops.emplace_back();
    added.isFree = true;
    added.operands = {i};
    viewed.steps[100 - i].uses = {unsigned(viewed.ops.size() - 1)};
  }
  RematOptions options{1000, 0, {}, 0};
  int64_t least = solveRemat(plain, options).back().peakBytes();
  EXPECT_LE(solveRemat(viewed, options).back().peakBytes(), least + 20);
}

TEST(Remat, AFusedCloneTakesNoBytesUnlessItIsCarried) {
  RematProblem problem = makeChain(3);
  problem.ops[2].fuses = true;
  problem.ops[2].bytes = 1000;
  llvm::SmallVector<bool> kept = {false, true, false, true};
  EXPECT_EQ(runRemat(problem, holdKept(problem, kept)).backwardPeak, 1012);
  problem.steps[1].fuses = true;
  EXPECT_EQ(runRemat(problem, holdKept(problem, kept)).backwardPeak, 22);
  problem.steps[2].uses.push_back(2);
  problem.steps[2].fuses = true;
  EXPECT_EQ(runRemat(problem, holdKept(problem, kept)).backwardPeak, 1012);
  RematHolds holds = holdKept(problem, kept);
  holds[2].clear();
  RematPlan plan = runRemat(problem, holds);
  EXPECT_EQ(plan.backwardPeak, 22);
  EXPECT_EQ(plan.seconds, 2);
}

TEST(Remat, OneKeptResultOfSeveralDoesNotBringTheOthersBack) {
  RematProblem problem = makeChain(3);
  // 1 is the operation, 2 and 3 its results.
  problem.ops[1].canKeep = false;
  problem.ops[1].bytes = 0;
  problem.ops[2].seconds = problem.ops[3].seconds = 0;
  problem.ops[3].operands = {1};
  problem.steps = {problem.steps[0], problem.steps[1]};
  EXPECT_EQ(problem.findFault(), "");
  RematPlan plan =
      runRemat(problem, holdKept(problem, {false, true, true, false}));
  EXPECT_EQ(plan.kept, (std::vector<unsigned>{2}));
  EXPECT_EQ(plan.seconds, 1);
  // Both are made at once.
  plan = runRemat(problem, holdKept(problem, {false, false, false, false}));
  EXPECT_EQ(plan.seconds, 2);
}

TEST(Remat, FaultsAreNamed) {
  RematProblem problem = makeChain(2);
  EXPECT_EQ(problem.findFault(), "");
  problem.ops[1].operands = {2};
  EXPECT_EQ(problem.findFault(),
            "an operand does not come before its operation");
  problem = makeChain(2);
  problem.ops[2].canRecompute = problem.ops[2].canKeep = false;
  EXPECT_EQ(problem.findFault(),
            "a value can neither be kept nor computed again");
  problem = makeChain(2);
  problem.steps[0].uses = {3};
  EXPECT_EQ(problem.findFault(),
            "a step reads a value that no operation makes");
}

TEST(Remat, NothingToPlanIsOnePlan) {
  RematProblem problem;
  EXPECT_EQ(solveRemat(problem).size(), 1u);
  EXPECT_EQ(rematLowerBound(problem, 0), 0);
  problem = makeChain(3);
  problem.steps.clear();
  ASSERT_EQ(solveRemat(problem).size(), 1u);
  EXPECT_EQ(solveRemat(problem)[0].seconds, 0);
}

TEST(Remat, LadderPeaksFallAndSecondsRise) {
  for (unsigned rungs : {4, 16, 1000}) {
    RematOptions options;
    options.maxRungs = rungs;
    std::vector<RematPlan> plans = solveRemat(makeBlocks(20), options);
    ASSERT_GE(plans.size(), 3u);
    EXPECT_LE(plans.size(), rungs + 1);
    EXPECT_EQ(plans[0].seconds, 0);
    EXPECT_TRUE(plans[0].clones.empty());
    for (size_t i = 1; i < plans.size(); ++i) {
      EXPECT_LT(plans[i].peakBytes(), plans[i - 1].peakBytes());
      EXPECT_GT(plans[i].seconds, plans[i - 1].seconds);
    }
  }
}

/// Each plan runs: whatever is read is there, and the bytes are as reported.
TEST(Remat, PlansServeEveryReader) {
  RematProblem problem = makeBlocks(12);
  for (const RematPlan &plan : solveRemat(problem)) {
    std::vector<char> there(problem.ops.size());
    there[0] = 1;
    for (unsigned value : plan.kept)
      there[value] = 1;
    double seconds = 0;
    size_t next = 0;
    for (unsigned j = 0; j < problem.steps.size(); ++j) {
      for (; next < plan.clones.size() && plan.clones[next].step == j; ++next) {
        const RematOp &op = problem.ops[plan.clones[next].op];
        seconds += op.seconds;
        for (unsigned operand : op.operands)
          EXPECT_TRUE(there[operand]);
        there[plan.clones[next].op] = 1;
      }
      for (unsigned use : problem.steps[j].uses)
        EXPECT_TRUE(there[use]);
    }
    EXPECT_EQ(next, plan.clones.size());
    EXPECT_DOUBLE_EQ(seconds, plan.seconds);
  }
}

TEST(Remat, SquareRootOfAChain) {
  // Segments of 10 of 100: about 20 values at once, everything computed at
  // most once more.
  std::vector<RematPlan> plans = solveRemat(makeChain(100));
  EXPECT_LE(pick(plans, 20 * 10 + 2), 100);
  // Below that values are computed several times.
  EXPECT_LT(plans.back().peakBytes(), 130);
}

/// Exact optima over every policy, at every peak that matters.
TEST(Remat, TinyProblemsAreSolvedExactly) {
  std::mt19937 random(7);
  unsigned compared = 0, missedFloors = 0;
  for (unsigned trial = 0; trial < 40; ++trial) {
    RematProblem problem = makeRandom(random, 5);
    ASSERT_EQ(problem.findFault(), "");
    RematOptions options{1000, 2000, {}, 0};
    std::vector<RematPlan> plans = solveRemat(problem, options);
    RematOracle oracle(problem);
    // The search for the least possible peak misses it by a byte at times.
    missedFloors += std::isfinite(oracle.solve(plans.back().peakBytes() - 1));
    for (int64_t limit = plans.back().peakBytes();
         limit <= plans.front().peakBytes(); ++limit) {
      double best = oracle.solve(limit);
      EXPECT_DOUBLE_EQ(pick(plans, limit), best)
          << "trial " << trial << ", limit " << limit;
      if (std::isfinite(best)) {
        // The bound by cases does not lean on what is known.
        for (double known : {best, 2 * best + 3})
          EXPECT_LE(rematLowerBound(problem, limit, known), best + 1e-9)
              << "trial " << trial << ", limit " << limit;
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 200u);
  EXPECT_LE(missedFloors, 4u);
}

TEST(Remat, TwentyThousandOperationsTakeASecond) {
  RematProblem problem = makeBlocks(4000);
  ASSERT_GT(problem.ops.size(), 20000u);
  std::clock_t start = std::clock();
  std::vector<RematPlan> plans = solveRemat(problem);
  double seconds = double(std::clock() - start) / CLOCKS_PER_SEC;
  EXPECT_GT(plans.size(), 30u);
  RecordProperty("cpu_seconds", std::to_string(seconds));
  // Sanitizers and unoptimized builds are slower; this guards the exponent.
  EXPECT_LT(seconds, 20);
}

} // namespace
