//===- RematBoundTest.cpp - lower bounds, and plans at asked limits ------===//

#include "RematOracle.h"
#include "RematProblems.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace tts::plan;

namespace {

/// Random problems, views and fused ones too: bounds stay below plans.
TEST(RematBound, BoundsAreBelowPlans) {
  std::mt19937 random(11);
  for (unsigned trial = 0; trial < 30; ++trial) {
    RematProblem problem = makeRandom(random, 12);
    for (RematOp &op : problem.ops) {
      op.fuses = random() % 3 == 0;
      if (random() % 6 == 0 && !op.operands.empty() && op.canRecompute) {
        op.isFree = true;
        op.bytes = op.scratchBytes = 0;
      }
    }
    for (RematStep &step : problem.steps)
      step.fuses = random() % 2;
    for (const RematPlan &plan : solveRemat(problem))
      EXPECT_LE(rematLowerBound(problem, plan.peakBytes(), 2 * plan.seconds),
                plan.seconds * (1 + 1e-9) + 1e-12)
          << "trial " << trial;
  }
}

TEST(RematBound, ManyBlocksAreWithinThreePercentOfTheBound) {
  RematProblem problem = makeBlocks(60);
  RematOptions options{1000, 0, {}, 0};
  std::vector<RematPlan> plans = solveRemat(problem, options);
  const int64_t top = plans.front().peakBytes();
  for (int64_t percent : {90, 80, 70, 60, 35, 30, 25}) {
    double seconds = pick(plans, top * percent / 100);
    double bound = rematLowerBound(problem, top * percent / 100, seconds);
    EXPECT_LE(seconds, 1.03 * bound) << percent << " %";
  }
}

TEST(RematBound, CasesProveWhatPricesCannot) {
  // Values made of the input alone, of odd sizes: a knapsack.
  RematProblem problem = makeChain(12);
  for (unsigned i = 1; i <= 12; ++i) {
    problem.ops[i].operands = {0};
    problem.ops[i].bytes = 101 + 37 * (i % 5) + i;
    problem.ops[i].seconds = 1 + 0.3 * (i % 3);
  }
  const int64_t top = solveRemat(problem)[0].peakBytes();
  unsigned loose = 0;
  RematOptions options{1000, 0, {}, 2'000'000, 0};
  for (int64_t percent : {95, 85, 75, 65})
    options.limits.push_back(top * percent / 100);
  std::vector<RematPlan> plans = solveRemat(problem, options);
  for (int64_t limit : options.limits) {
    const double seconds = pick(plans, limit);
    loose += rematLowerBound(problem, limit, seconds, 0) < 0.97 * seconds;
    EXPECT_NEAR(rematLowerBound(problem, limit, seconds), seconds, 1e-6);
  }
  EXPECT_GE(loose, 2u);
}

/// At limits that are asked for, moves alone find the optimum.
TEST(RematBound, AskedLimitsAreSearched) {
  std::mt19937 random(23);
  unsigned compared = 0, improved = 0, missed = 0;
  for (unsigned trial = 0; trial < 25; ++trial) {
    RematProblem problem = makeRandom(random, 6);
    RematOracle oracle(problem);
    const std::vector<RematPlan> ladder =
        solveRemat(problem, {1000, 0, {}, 0, 0});
    for (const RematPlan &rung : ladder) {
      const int64_t limit = rung.peakBytes() - 1;
      const double best = oracle.solve(limit);
      if (!std::isfinite(best))
        continue;
      const double found =
          pick(solveRemat(problem, {1000, 0, {limit}, 0, 60}), limit);
      EXPECT_GE(found, best - 1e-9);
      missed += found > best + 1e-9;
      improved += found < pick(ladder, limit);
      ++compared;
    }
  }
  EXPECT_GT(compared, 60u);
  EXPECT_GT(improved, 10u);
  EXPECT_LE(missed, compared / 50);
}

} // namespace
