//===- Bound.cpp - seconds that no plan under a limit can avoid ----------===//

#include "Cut.h"

#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <vector>

using namespace tts::plan;

namespace {

/// At one moment, `weight` bytes of each value that forward kept must fit into
/// `room`, whatever the plan.
struct Moment {
  std::vector<int64_t> weight;
  int64_t room = 0;
};

/// Before the first step everything that was kept is live.
Moment beforeBackward(const RematProblem &problem, int64_t limit) {
  Moment moment;
  const RematStep &first = problem.steps.front();
  moment.room = limit - std::min(first.liveBefore, first.liveDuring);
  for (const RematOp &op : problem.ops)
    moment.weight.push_back(op.bytes);
  return moment;
}

/// During a step its own reads are live, kept or not, and so is what was kept
/// for a later reader. What is computed again may not be.
Moment duringStep(const RematProblem &problem,
                  llvm::ArrayRef<unsigned> lastReader, unsigned step,
                  int64_t limit) {
  Moment moment;
  const RematStep &now = problem.steps[step];
  moment.room = limit - now.liveDuring;
  moment.weight.assign(problem.ops.size(), 0);
  for (unsigned i = 0; i < problem.ops.size(); ++i)
    if (lastReader[i] > step)
      moment.weight[i] = problem.ops[i].bytes;
  llvm::SmallVector<unsigned> uses(now.uses.begin(), now.uses.end());
  llvm::sort(uses);
  uses.erase(std::unique(uses.begin(), uses.end()), uses.end());
  for (unsigned use : uses) {
    const RematOp &op = problem.ops[use];
    moment.weight[use] = 0;
    if (!now.fuses || !op.fuses)
      moment.room -= op.bytes;
  }
  return moment;
}

/// The Lagrangian of one moment: concave in the price of a byte.
class Dual {
public:
  Dual(const RematProblem &problem, const Moment &moment)
      : problem(problem), moment(moment) {}

  /// Its maximum over the price.
  double maximize() {
    double low = 0, high = 0, all = 0;
    for (const RematOp &op : problem.ops)
      all += op.seconds;
    int64_t weight = 0;
    for (int64_t w : moment.weight)
      weight = std::max(weight, w);
    if (all <= 0 || weight <= 0)
      return 0;
    high = 4 * all / double(weight);
    while (evaluate(high) > 0 && high < 1e9 * all)
      low = high, high *= 8;
    for (int i = 0; i < 24 && high - low > 1e-7 * high; ++i) {
      double middle = low > 0 ? 0.5 * (low + high) : high / 16;
      (evaluate(middle) > 0 ? low : high) = middle;
    }
    return best;
  }

private:
  /// The slope there: bytes kept beyond the room.
  double evaluate(double price) {
    RematCut cut(problem);
    for (unsigned i = 0; i < problem.ops.size(); ++i)
      cut.setPrice(i, price * double(moment.weight[i]));
    double value = cut.solve() - price * double(moment.room);
    // Prices and seconds are rounded inside the cut.
    best = std::max(best, value - cut.roundingError());
    double slope = -double(moment.room);
    for (unsigned i = 0; i < problem.ops.size(); ++i)
      if (cut.isKept(i))
        slope += double(moment.weight[i]);
    return slope;
  }

  const RematProblem &problem;
  const Moment &moment;
  double best = 0;
};

} // namespace

double tts::plan::rematLowerBound(const RematProblem &problem,
                                  int64_t peakBytes) {
  if (problem.steps.empty())
    return 0;
  std::vector<unsigned> lastReader(problem.ops.size());
  for (unsigned j = 0; j < problem.steps.size(); ++j)
    for (unsigned use : problem.steps[j].uses)
      lastReader[use] = j;
  Moment start = beforeBackward(problem, peakBytes);
  double best = Dual(problem, start).maximize();
  // Where backward's own values leave the least room.
  std::vector<unsigned> order(problem.steps.size());
  for (unsigned j = 0; j < order.size(); ++j)
    order[j] = j;
  auto room = [&](unsigned j) { return problem.steps[j].liveDuring; };
  std::stable_sort(order.begin(), order.end(),
                   [&](unsigned a, unsigned b) { return room(a) > room(b); });
  order.resize(std::min<size_t>(order.size(), 2));
  order.push_back(0);
  for (unsigned j : order) {
    Moment moment = duringStep(problem, lastReader, j, peakBytes);
    best = std::max(best, Dual(problem, moment).maximize());
  }
  return best;
}
