//===- Levels.cpp - one minimum cut for each price of a byte -------------===//

#include "Levels.h"

#include "Cut.h"
#include <algorithm>
#include <utility>

using namespace tts::plan;

/// What backward reads, views looked through.
static RematKept readByBackward(const RematProblem &problem) {
  RematKept kept(problem.ops.size());
  for (const RematStep &step : problem.steps)
    for (unsigned use : step.uses)
      kept[use] = 1;
  for (unsigned i = problem.ops.size(); i-- > 0;) {
    const RematOp &op = problem.ops[i];
    if (!kept[i] || (op.canKeep && !op.isFree))
      continue;
    kept[i] = 0;
    for (unsigned operand : op.operands)
      kept[operand] = 1;
  }
  return kept;
}

/// Prices of a byte at which nothing and everything is worth computing again.
static std::pair<double, double> priceRange(const RematProblem &problem) {
  double least = 0, most = 0, all = 0;
  for (const RematOp &op : problem.ops) {
    all += op.seconds;
    if (op.bytes <= 0 || op.seconds <= 0)
      continue;
    double ratio = op.seconds / double(op.bytes);
    least = least > 0 ? std::min(least, ratio) : ratio;
    most = std::max(most, ratio);
  }
  // A chain costs what all its members cost, but a value that needs all of
  // them is not dear for ever: a few doublings above the dearest are enough.
  return {least / 4, std::max(most, least) * 1024};
}

std::vector<RematKept> tts::plan::findRematLevels(const RematProblem &problem) {
  std::vector<RematKept> levels;
  auto add = [&](RematKept kept) {
    // Those that nothing reads are never kept in the end.
    for (unsigned i = 0; i < problem.ops.size(); ++i)
      kept[i] |= !problem.ops[i].canRecompute;
    if (levels.empty() || kept != levels.back())
      levels.push_back(std::move(kept));
  };
  add(readByBackward(problem));
  auto [price, last] = priceRange(problem);
  RematCut cut(problem);
  RematKept kept(problem.ops.size());
  for (; price > 0 && price <= last; price *= 1.25) {
    for (unsigned i = 0; i < problem.ops.size(); ++i)
      cut.setPrice(i, price * double(problem.ops[i].bytes));
    cut.solve();
    for (unsigned i = 0; i < problem.ops.size(); ++i)
      kept[i] = cut.isKept(i) && problem.ops[i].bytes > 0;
    add(kept);
  }
  add(RematKept(problem.ops.size()));
  return levels;
}
