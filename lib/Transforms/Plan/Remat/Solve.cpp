//===- Solve.cpp - the ladder of plans -----------------------------------===//

#include "Chain.h"
#include "Levels.h"
#include "Run.h"

#include <algorithm>

using namespace tts::plan;

/// Sizes of the chain's tables, and operations and steps that runs of its plans
/// may take together.
static constexpr unsigned kMostBlocks = 64, kMostWays = 12, kSlots = 512;
static constexpr unsigned kRunWork = 2'000'000;

/// The plans that no other beats in both peak and seconds, peaks falling.
static void keepFront(std::vector<RematPlan> &plans) {
  std::stable_sort(
      plans.begin(), plans.end(), [](const RematPlan &a, const RematPlan &b) {
        return a.seconds != b.seconds ? a.seconds < b.seconds
                                      : a.peakBytes() < b.peakBytes();
      });
  std::vector<RematPlan> front;
  for (RematPlan &plan : plans)
    if (front.empty() || plan.peakBytes() < front.back().peakBytes())
      front.push_back(std::move(plan));
  plans = std::move(front);
}

std::vector<RematPlan> tts::plan::solveRemat(const RematProblem &problem,
                                             const RematOptions &options) {
  RematRunner runner(problem);
  std::vector<RematPlan> plans;
  std::vector<RematKept> levels = findRematLevels(problem);
  for (const RematKept &level : levels) {
    llvm::SmallVector<bool> kept(level.begin(), level.end());
    plans.push_back(runner.run(holdKept(problem, kept)));
  }
  RematBlocks blocks(problem, runner, levels, kMostBlocks, kMostWays);
  RematChain chain(problem, blocks, plans.front().peakBytes(), kSlots);
  const unsigned size = problem.ops.size() + problem.steps.size();
  const unsigned stride = 1 + kSlots * uint64_t(size) / kRunWork;
  for (unsigned slot = 1; slot <= kSlots; slot += stride) {
    RematHolds holds = chain.holdsFor(slot);
    if (!holds.empty())
      plans.push_back(runner.run(holds));
  }
  keepFront(plans);
  return plans;
}
