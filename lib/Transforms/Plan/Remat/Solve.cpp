//===- Solve.cpp - the ladder of plans -----------------------------------===//

#include "Chain.h"
#include "Levels.h"
#include "Run.h"
#include "Search.h"

using namespace tts::plan;

/// Sizes of the chain's tables, and operations and steps that runs of its plans
/// may take together.
static constexpr unsigned kMostBlocks = 64, kMostWays = 12, kSlots = 512;
static constexpr unsigned kRunWork = 2'000'000;

std::vector<RematPlan> tts::plan::solveRemat(const RematProblem &problem,
                                             const RematOptions &options) {
  RematRunner runner(problem);
  RematFront front;
  std::vector<RematKept> levels = findRematLevels(problem);
  for (const RematKept &level : levels) {
    llvm::SmallVector<bool> kept(level.begin(), level.end());
    RematHolds holds = holdKept(problem, kept);
    front.offer(runner.run(holds), holds);
  }
  const int64_t top = front.points().front().plan.peakBytes();
  const unsigned size = problem.ops.size() + problem.steps.size();
  for (unsigned mostBlocks : {8, 16, 32, 64}) {
    RematBlocks blocks(problem, runner, levels, mostBlocks, kMostWays);
    RematChain chain(problem, blocks, top, kSlots);
    const unsigned stride = 1 + kSlots * uint64_t(size) / kRunWork;
    for (unsigned slot = 1; slot <= kSlots; slot += stride) {
      RematHolds holds = chain.holdsFor(slot);
      if (!holds.empty())
        front.offer(runner.run(holds), holds);
    }
    if (mostBlocks >= size)
      break;
  }
  const int64_t targets = 64;
  const int64_t moves = options.searchWork * 1000 / (targets * size);
  if (moves >= 4 * int64_t(size))
    RematSearch(problem, runner, front).improve(targets, moves);
  std::vector<RematPlan> plans;
  for (RematPoint &point : front.take())
    plans.push_back(std::move(point.plan));
  return plans;
}
