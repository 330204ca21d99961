//===- Bound.cpp - seconds that no plan under a limit can avoid ----------===//
//
// A Lagrangian: in every step a price for each byte beyond the limit. For given
// prices the cheapest relaxed plan is a minimum cut, and its value a bound; the
// prices are improved by subgradients (Polyak 1969). docs/rematerialization.md
// says why each charge is below what every plan pays.

#include "Bound.h"

#include "Cut.h"

#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

using namespace tts::plan;

/// Weight of the newest relaxed plan in the shares.
static constexpr double kMemory = 0.1;

RematDual::RematDual(const RematProblem &problem, int64_t limit)
    : problem(problem), numSteps(problem.steps.size()),
      readers(problem.ops.size()), room(numSteps + 1), prices(numSteps + 1),
      sums(numSteps + 1), fates(problem.ops.size(), Fate::Open),
      againShare(problem.ops.size()) {
  findReaders();
  findTraces();
  for (unsigned j = 0; j < numSteps; ++j) {
    const RematStep &step = problem.steps[j];
    room[j] = double(limit - step.liveDuring);
    llvm::SmallVector<unsigned> uses(step.uses.begin(), step.uses.end());
    llvm::sort(uses);
    uses.erase(std::unique(uses.begin(), uses.end()), uses.end());
    for (unsigned use : uses)
      if (!step.fuses || !problem.ops[use].fuses)
        room[j] -= double(problem.ops[use].bytes);
  }
  const RematStep &first = problem.steps.front();
  room[numSteps] = double(limit - std::min(first.liveBefore, first.liveDuring));
  roundRoom();
  for (const RematOp &op : problem.ops)
    allSeconds += op.seconds;
}

void RematDual::findReaders() {
  for (unsigned j = 0; j < numSteps; ++j)
    for (unsigned use : problem.steps[j].uses)
      readers[use].push_back(j);
  for (unsigned i = problem.ops.size(); i-- > 0;) {
    if (problem.ops[i].isFree)
      for (unsigned operand : problem.ops[i].operands)
        readers[operand].insert(readers[operand].end(), readers[i].begin(),
                                readers[i].end());
  }
  for (std::vector<unsigned> &steps : readers) {
    llvm::sort(steps);
    steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  }
}

/// A kept value that no step reads serves clones, and the last of them a step:
/// until then it, or what was made of it, is live. It stands for the fewest
/// bytes on the way, and what several values go into is shared among them.
void RematDual::findTraces() {
  const double unlimited = std::numeric_limits<double>::max();
  traceBytes.assign(problem.ops.size(), unlimited);
  traceEnd.assign(problem.ops.size(), numSteps);
  for (unsigned i = problem.ops.size(); i-- > 0;) {
    const RematOp &op = problem.ops[i];
    const bool isStored = op.canKeep && !op.isFree;
    if (!readers[i].empty()) {
      traceBytes[i] = unlimited;
      traceEnd[i] = readers[i].front();
    }
    if (isStored)
      traceBytes[i] = std::min(traceBytes[i], double(op.bytes));
    unsigned sharers = 0;
    for (unsigned operand : op.operands)
      sharers += readers[operand].empty();
    for (unsigned operand : op.operands) {
      traceBytes[operand] =
          std::min(traceBytes[operand], traceBytes[i] / double(sharers));
      traceEnd[operand] = std::min(traceEnd[operand], traceEnd[i]);
    }
  }
}

/// What is charged at a moment is a sum of bytes that have a common divisor:
/// the room is no more than a multiple of it.
void RematDual::roundRoom() {
  std::vector<std::vector<int64_t>> ending(numSteps + 1);
  int64_t all = 0;
  for (unsigned i = 0; i < problem.ops.size(); ++i) {
    const RematOp &op = problem.ops[i];
    if (op.isFree || !op.canKeep || op.bytes == 0)
      continue;
    all = std::gcd(all, op.bytes);
    if (!readers[i].empty())
      ending[readers[i].back()].push_back(op.bytes);
    else // the parts of a shared trace are no whole bytes
      ending[traceEnd[i]].push_back(traceBytes[i] == double(op.bytes) ? op.bytes
                                                                      : 1);
  }
  auto rounded = [](double bytes, int64_t unit) {
    return unit > 0 ? std::floor(bytes / double(unit)) * double(unit) : bytes;
  };
  room[numSteps] = rounded(room[numSteps], all);
  int64_t unit = 0;
  for (unsigned j = numSteps; j-- > 0;) {
    for (int64_t bytes : ending[j + 1])
      unit = std::gcd(unit, bytes);
    room[j] = rounded(room[j], unit);
  }
}

/// A kept value is live before backward, and until its last reader; what a
/// step reads itself is in that step's room.
double RematDual::priceOfKeeping(unsigned op) const {
  double price = prices[numSteps] * double(problem.ops[op].bytes);
  if (readers[op].empty())
    return price + sums[traceEnd[op]] * traceBytes[op];
  price += sums[readers[op].front()] * double(problem.ops[op].bytes);
  for (size_t i = 1; i < readers[op].size(); ++i)
    price += between(op, readers[op][i - 1], readers[op][i]);
  return price;
}

/// A value that is computed again is carried between two of its readers, or
/// computed once more. A kept one that was dropped before some reader saved
/// one of these, but was carried to its first.
double RematDual::priceOfSpans(unsigned op, std::vector<bool> *charged) const {
  const std::vector<unsigned> &steps = readers[op];
  if (steps.size() < 2 || !problem.ops[op].canKeep)
    return 0;
  double total = 0, largest = 0;
  size_t dearest = 1;
  for (size_t i = 1; i < steps.size(); ++i) {
    double span =
        std::min(problem.ops[op].seconds, between(op, steps[i - 1], steps[i]));
    total += span;
    if (span > largest)
      largest = span, dearest = i;
  }
  double carried = sums[steps.front()] * double(problem.ops[op].bytes);
  bool swaps = carried < largest;
  if (charged) {
    charged->assign(steps.size(), true);
    for (size_t i = 1; i < steps.size(); ++i)
      (*charged)[i] =
          between(op, steps[i - 1], steps[i]) < problem.ops[op].seconds;
    (*charged)[0] = swaps;
    if (swaps)
      (*charged)[dearest] = false;
  }
  return swaps ? total - largest + carried : total;
}

void RematDual::addSpan(unsigned op, unsigned after, unsigned before) {
  if (before <= after + 1)
    return;
  slopes[after + 1] += double(problem.ops[op].bytes);
  slopes[before] -= double(problem.ops[op].bytes);
}

/// How far the relaxed plan is over the room, by moment.
void RematDual::collectSlopes(const RematCut &cut) {
  slopes.assign(numSteps + 1, 0);
  double start = 0;
  std::vector<bool> charged;
  for (unsigned i = 0; i < problem.ops.size(); ++i) {
    const std::vector<unsigned> &steps = readers[i];
    const double bytes = double(problem.ops[i].bytes);
    const bool kept = cut.isKept(i);
    if (bytes <= 0 || (!kept && !cut.isRecomputed(i)))
      continue;
    if (kept)
      start += bytes;
    if (steps.empty()) {
      if (kept && traceEnd[i] > 0) {
        slopes[0] += traceBytes[i];
        slopes[traceEnd[i]] -= traceBytes[i];
      }
      continue;
    }
    charged.assign(steps.size(), kept);
    if (!kept && priceOfSpans(i, &charged) <= 0)
      continue;
    if (charged[0]) {
      slopes[0] += bytes;
      slopes[steps[0]] -= bytes;
    }
    for (size_t s = 1; s < steps.size(); ++s)
      if (charged[s])
        addSpan(i, steps[s - 1], steps[s]);
  }
  for (unsigned j = 1; j < numSteps; ++j)
    slopes[j] += slopes[j - 1];
  slopes[numSteps] = start;
  for (unsigned j = 0; j <= numSteps; ++j)
    slopes[j] -= room[j];
}

double RematDual::evaluate() {
  for (unsigned j = 0; j < numSteps; ++j)
    sums[j + 1 < numSteps ? j + 1 : numSteps] = sums[j] + prices[j];
  RematCut cut(problem);
  const double never = 4 * allSeconds;
  for (unsigned i = 0; i < problem.ops.size(); ++i) {
    cut.setPrice(i, fates[i] == Fate::Again ? never : priceOfKeeping(i));
    if (!problem.ops[i].isFree)
      cut.setCost(i, fates[i] == Fate::Stored
                         ? never
                         : problem.ops[i].seconds + priceOfSpans(i, nullptr));
  }
  value = cut.solve() - cut.roundingError();
  for (unsigned j = 0; j <= numSteps; ++j)
    value -= prices[j] * room[j];
  best = std::max(best, value);
  for (unsigned i = 0; i < problem.ops.size(); ++i)
    againShare[i] += kMemory * (double(cut.isRecomputed(i)) - againShare[i]);
  collectSlopes(cut);
  if (visit)
    visit(cut);
  return value;
}

/// The best multiple of a direction, by the sign of the slope along it.
double RematDual::searchLine(const std::vector<double> &direction) {
  double low = 0, high = 0;
  auto slopeAt = [&](double length) {
    for (unsigned j = 0; j <= numSteps; ++j)
      prices[j] = length * direction[j];
    evaluate();
    return std::inner_product(slopes.begin(), slopes.end(), direction.begin(),
                              0.0);
  };
  const double start = best;
  double at = 0, found = start;
  high = 1;
  for (int i = 0; i < 40 && slopeAt(high) > 0; ++i)
    low = high, high *= 4;
  for (int i = 0; i < 60 && low == 0 && slopeAt(high / 4) <= 0; ++i)
    high /= 4;
  low = std::max(low, high / 4);
  for (int i = 0; i < 16; ++i) {
    double middle = 0.5 * (low + high);
    double slope = slopeAt(middle);
    if (value >= found)
      found = value, at = middle;
    (slope > 0 ? low : high) = middle;
  }
  return at;
}

/// Moments at which keeping everything is furthest over the room.
std::vector<unsigned> RematDual::tightMoments(unsigned count) const {
  std::vector<double> over(numSteps + 1);
  for (unsigned i = 0; i < problem.ops.size(); ++i)
    if (!readers[i].empty() && !problem.ops[i].isFree) {
      over[0] += double(problem.ops[i].bytes);
      over[readers[i].back()] -= double(problem.ops[i].bytes);
    }
  for (unsigned j = 1; j < numSteps; ++j)
    over[j] += over[j - 1];
  std::vector<unsigned> order(numSteps);
  std::iota(order.begin(), order.end(), 0);
  for (unsigned j = 0; j < numSteps; ++j)
    over[j] -= room[j];
  std::stable_sort(order.begin(), order.end(),
                   [&](unsigned a, unsigned b) { return over[a] > over[b]; });
  order.resize(std::min<size_t>(order.size(), count));
  order.push_back(numSteps);
  return order;
}

RematDual::Prices RematDual::findStart(unsigned moments) {
  int64_t largest = 1;
  for (const RematOp &op : problem.ops)
    largest = std::max(largest, op.bytes);
  const double unit = allSeconds / double(largest) / 64;
  Prices bestPrices(numSteps + 1);
  for (unsigned moment : tightMoments(moments)) {
    double before = best;
    Prices direction(numSteps + 1);
    direction[moment] = unit;
    double length = searchLine(direction);
    if (best > before) {
      bestPrices.assign(numSteps + 1, 0);
      bestPrices[moment] = length * unit;
    }
  }
  return bestPrices;
}

double RematDual::climb(double known, unsigned iterations, double pace,
                        Prices &from) {
  best = 0;
  prices = from;
  for (unsigned i = 0, idle = 0; i < iterations && pace > 1e-4; ++i) {
    double before = best;
    evaluate();
    if (best > before) {
      from = prices;
      idle = 0;
    } else if (++idle >= 10) {
      pace *= 0.6;
      idle = 0;
      prices = from;
      evaluate();
    }
    double square = 0;
    for (unsigned j = 0; j <= numSteps; ++j)
      if (prices[j] > 0 || slopes[j] > 0)
        square += slopes[j] * slopes[j];
    double gap = std::max(known, 1.02 * best) - value;
    if (square <= 0 || gap <= 0)
      break;
    for (unsigned j = 0; j <= numSteps; ++j)
      prices[j] = std::max(0.0, prices[j] + pace * gap / square * slopes[j]);
  }
  return best;
}

std::optional<unsigned> RematDual::mostUndecided() const {
  std::optional<unsigned> found;
  double most = 0;
  for (unsigned i = 0; i < problem.ops.size(); ++i) {
    const RematOp &op = problem.ops[i];
    if (op.isFree || !op.canKeep || !op.canRecompute || fates[i] != Fate::Open)
      continue;
    const double doubt = std::min(againShare[i], 1 - againShare[i]);
    if (doubt * op.seconds > most) {
      most = doubt * op.seconds;
      found = i;
    }
  }
  return found;
}
