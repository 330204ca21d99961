//===- BoundTree.cpp - branch and bound over what is computed again -------===//
//
// Where few values decide, the Lagrangian is loose by a part of one of them.
// The tree takes the loosest open case and decides one value: in any plan it is
// computed again or it is not.

#include "Bound.h"

#include <algorithm>
#include <limits>

using namespace tts::plan;

namespace {

/// Decided fates, the bound of plans with them, and what to decide next.
struct Case {
  double bound;
  std::vector<RematDual::Fate> fates;
  RematDual::Prices prices;
  std::optional<unsigned> open;
};

/// Of two cases the one to look at later: that of the higher bound.
bool isLater(const Case &a, const Case &b) { return a.bound > b.bound; }

} // namespace

static constexpr unsigned kCaseIterations = 30;

double tts::plan::boundByCases(const RematProblem &problem, RematDual &dual,
                               const double &known, size_t work) {
  const size_t size = problem.ops.size() + problem.steps.size();
  const unsigned iterations = std::clamp<size_t>(200'000 / size, 20, 400);
  Case root{0, std::vector<RematDual::Fate>(problem.ops.size()), {}, {}};
  root.prices = dual.findStart(2 + iterations / 40);
  root.bound = dual.climb(known, iterations, 1, root.prices);
  root.open = dual.mostUndecided();
  const double first = root.bound;
  std::vector<Case> cases{std::move(root)};
  // The least bound of what was not divided further.
  double closed = std::numeric_limits<double>::infinity();
  for (size_t left = work / size / (2 * kCaseIterations);
       left > 0 && !cases.empty() && cases.front().bound < known; --left) {
    std::pop_heap(cases.begin(), cases.end(), isLater);
    const Case parent = std::move(cases.back());
    cases.pop_back();
    if (!parent.open) {
      closed = std::min(closed, parent.bound);
      break;
    }
    for (auto fate : {RematDual::Fate::Stored, RematDual::Fate::Again}) {
      Case child = parent;
      child.fates[*parent.open] = fate;
      dual.setFates(child.fates);
      child.bound = std::max(
          parent.bound, dual.climb(known, kCaseIterations, 0.3, child.prices));
      child.open = dual.mostUndecided();
      cases.push_back(std::move(child));
      std::push_heap(cases.begin(), cases.end(), isLater);
    }
  }
  if (!cases.empty())
    closed = std::min(closed, cases.front().bound);
  return std::max(first, std::min(known, closed));
}

double tts::plan::rematLowerBound(const RematProblem &problem,
                                  int64_t peakBytes, double knownSeconds,
                                  int64_t caseWork) {
  if (problem.steps.empty())
    return 0;
  RematDual dual(problem, peakBytes);
  return boundByCases(problem, dual, knownSeconds, caseWork);
}
