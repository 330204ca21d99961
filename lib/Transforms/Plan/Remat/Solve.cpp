//===- Solve.cpp - the ladder of plans -----------------------------------===//

#include "Bound.h"
#include "Chain.h"
#include "Cut.h"
#include "Levels.h"
#include "Run.h"
#include "Search.h"

using namespace tts::plan;

/// Operations and steps that the runs of one kind of plan may take together.
static constexpr uint64_t kRunWork = 2'000'000;

/// A chain's tables: most blocks, slots of memory, most operations.
static constexpr struct {
  unsigned blocks, slots, mostOps;
} kChains[] = {{8, 512, ~0u},
               {16, 512, ~0u},
               {32, 512, ~0u},
               {64, 512, ~0u},
               {128, 256, 1024}};
static constexpr unsigned kMostWays = 24, kMostTargets = 64, kTries = 6;

namespace {

class Solver {
public:
  Solver(const RematProblem &problem)
      : problem(problem), runner(problem),
        size(1 + problem.ops.size() + problem.steps.size()),
        levels(findRematLevels(problem)) {}

  std::vector<RematPlan> solve(const RematOptions &options);

private:
  int64_t offer(const RematHolds &holds);
  void offerLevels();
  void mixLevels(unsigned from, unsigned to, const RematBlocks &places,
                 unsigned runs);
  void offerChains();
  void offerCases(int64_t limit, int64_t work);
  std::vector<RematPlan> thinned(unsigned most);

  const RematProblem &problem;
  RematRunner runner;
  RematFront front;
  const uint64_t size;
  std::vector<RematKept> levels;
};

} // namespace

/// Its peak.
int64_t Solver::offer(const RematHolds &holds) {
  RematPlan plan = runner.run(holds);
  const int64_t peak = plan.peakBytes();
  front.offer(plan, holds);
  return peak;
}

/// The levels, and between two of them the deeper one for forward's first
/// operations: what they keep is there all through backward, and what they
/// compute again comes when the rest has been freed.
void Solver::offerLevels() {
  std::vector<int64_t> peaks;
  for (const RematKept &level : levels) {
    llvm::SmallVector<bool> kept(level.begin(), level.end());
    peaks.push_back(offer(holdKept(problem, kept)));
  }
  RematBlocks places(problem, runner, {}, 512, 1);
  const uint64_t runs = std::min<uint64_t>(256, kRunWork / size);
  for (unsigned from = 0, to = 1; to < levels.size(); ++to) {
    if (peaks[to] >= peaks[from])
      continue;
    mixLevels(from, to, places,
              runs * double(peaks[from] - peaks[to]) / double(peaks[0]));
    from = to;
  }
}

void Solver::mixLevels(unsigned from, unsigned to, const RematBlocks &places,
                       unsigned runs) {
  std::vector<unsigned> cuts;
  for (unsigned b = 0; b < places.size(); ++b) {
    const auto begin = places[b].firstOp, end = places[b].lastOp;
    if (!std::equal(levels[from].begin() + begin, levels[from].begin() + end,
                    levels[to].begin() + begin))
      cuts.push_back(end);
  }
  runs = std::min<unsigned>(runs, cuts.size());
  for (unsigned run = 0; run + 1 < runs; ++run) {
    const unsigned cut = cuts[uint64_t(run) * cuts.size() / runs];
    llvm::SmallVector<bool> kept(levels[from].begin(), levels[from].end());
    std::copy_n(levels[to].begin(), cut, kept.begin());
    offer(holdKept(problem, kept));
  }
}

void Solver::offerChains() {
  const int64_t top = front.points().front().plan.peakBytes();
  for (const auto &shape : kChains) {
    if (problem.ops.size() > shape.mostOps)
      continue;
    RematBlocks blocks(problem, runner, levels, shape.blocks, kMostWays);
    RematChain chain(problem, blocks, top, shape.slots);
    const unsigned stride = 1 + shape.slots * size / kRunWork;
    for (unsigned slot = 1; slot <= shape.slots; slot += stride) {
      RematHolds holds = chain.holdsFor(slot);
      if (!holds.empty())
        offer(holds);
    }
    if (shape.blocks >= problem.ops.size())
      return;
  }
}

/// The kept sets of relaxed plans under a limit, at prices for each step.
void Solver::offerCases(int64_t limit, int64_t work) {
  RematDual dual(problem, limit);
  const RematPoint *start = front.find(limit);
  double known = start ? start->plan.seconds : 0;
  RematKept last;
  dual.setVisit([&](const RematCut &cut) {
    RematKept kept(problem.ops.size());
    for (unsigned v = 0; v < problem.ops.size(); ++v)
      kept[v] = cut.isKept(v) && problem.ops[v].bytes > 0;
    if (kept == last)
      return;
    last = kept;
    llvm::SmallVector<bool> set(kept.begin(), kept.end());
    if (offer(holdKept(problem, set)) <= limit)
      known = front.find(limit)->plan.seconds;
  });
  boundByCases(problem, dual, known, work);
}

/// The fastest, the smallest, and others at evenly spread peaks.
std::vector<RematPlan> Solver::thinned(unsigned most) {
  std::vector<RematPoint> points = front.take();
  std::vector<RematPlan> plans;
  if (points.empty() || most == 0)
    return plans;
  const int64_t top = points.front().plan.peakBytes(),
                bottom = points.back().plan.peakBytes();
  double next = double(top), stride = double(top - bottom) / most;
  if (points.size() <= most)
    stride = 0;
  for (RematPoint &point : points) {
    const int64_t peak = point.plan.peakBytes();
    if (double(peak) > next && peak != bottom)
      continue;
    plans.push_back(std::move(point.plan));
    next = std::min(next - stride, double(peak));
  }
  return plans;
}

std::vector<RematPlan> Solver::solve(const RematOptions &options) {
  offerLevels();
  if (problem.steps.empty())
    return thinned(1);
  offerChains();
  const int64_t moves =
      options.searchWork * 1000 / int64_t(kMostTargets * size);
  if (moves >= 4 * int64_t(size))
    RematSearch(problem, runner, front).improve(kMostTargets, moves);
  for (int64_t limit : options.limits)
    offerCases(limit, options.caseWork);
  const int64_t asked = options.askedWork * 1000 / int64_t(kTries * size);
  if (asked >= 4 * int64_t(size))
    for (int64_t limit : options.limits)
      RematSearch(problem, runner, front).improveAt(limit, kTries, asked);
  return thinned(options.maxRungs);
}

std::vector<RematPlan> tts::plan::solveRemat(const RematProblem &problem,
                                             const RematOptions &options) {
  return Solver(problem).solve(options);
}
