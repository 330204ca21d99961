// Restarts of the exact search: many short attempts in different orders find
// what one long attempt does not.
#include "Search.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace tts::packing;

/// A number in [0, 1) that depends on `seed` alone (the finalizer of
/// splitmix64).
static double uniform(uint64_t seed) {
  seed += 0x9e3779b97f4a7c15ull;
  seed = (seed ^ (seed >> 30)) * 0xbf58476d1ce4e5b9ull;
  seed = (seed ^ (seed >> 27)) * 0x94d049bb133111ebull;
  return double((seed ^ (seed >> 31)) >> 11) * 0x1p-53;
}

/// The sequence 1 1 2 1 1 2 4 … (index from 1), the best one for restarts when
/// nothing is known about how long an attempt takes (Luby et al., 1993).
static int64_t luby(int64_t index) {
  int64_t power = 1;
  while (2 * power - 1 < index)
    power *= 2;
  return 2 * power - 1 == index ? power : luby(index - (power - 1));
}

static constexpr int numFixedStrategies = 4;

/// Attempt `number` of a sequence that is the same everywhere: the orders that
/// are good by experience, then weighted mixtures of them with some noise.
static Strategy makeStrategy(const Problem &problem, int number) {
  switch (number) {
  case 0:
    return {orderOf(problem, Order::Length), ValleyPick::Lowest};
  case 1:
    return {orderOf(problem, Order::Size), ValleyPick::Lowest};
  case 2:
    return {orderOf(problem, Order::Length), ValleyPick::Tightest};
  case 3:
    return {orderOf(problem, Order::Area), ValleyPick::Lowest};
  }
  // The constant is the best of ten on the public instances.
  const uint64_t seed = (uint64_t(number) << 32) + 0x200000;
  const double ofSize = uniform(seed + 1), ofLength = 2 * uniform(seed + 2),
               ofLoad = 4 * uniform(seed + 3),
               noise = std::max(0.0, 2 * uniform(seed + 4) - 0.6);
  const std::vector<int64_t> loads = contention(problem);
  std::vector<double> key;
  for (size_t i = 0; i < problem.spans.size(); ++i) {
    const Span &span = problem.spans[i];
    key.push_back(ofSize * std::log(double(span.size)) +
                  ofLength * std::log(double(span.end - span.begin)) +
                  ofLoad * std::log(double(loads[i])) +
                  noise * uniform(seed + 16 + i));
  }
  Strategy strategy;
  strategy.order.resize(key.size());
  std::iota(strategy.order.begin(), strategy.order.end(), 0);
  std::stable_sort(strategy.order.begin(), strategy.order.end(),
                   [&](int32_t a, int32_t b) { return key[a] > key[b]; });
  strategy.pick = ValleyPick(number % 3);
  return strategy;
}

/// Whether `capacity` is enough, as far as `work` steps tell.
static bool searchAt(const Problem &problem, int64_t capacity, int64_t &work,
                     Placement &best) {
  const int64_t count = int64_t(problem.spans.size());
  const int64_t area = count * problem.numSections; // one dive, about a third
  const int64_t base = 60'000 + 40 * count + area;
  for (int number = 0; work > 0; ++number) {
    const int64_t share = number < numFixedStrategies
                              ? base + 7 * area
                              : base * luby(number - numFixedStrategies + 1);
    const int64_t granted = std::min(share, work);
    int64_t left = granted;
    Outcome outcome = searchSkyline(
        problem, capacity, makeStrategy(problem, number), left, best.offsets);
    work -= granted - left;
    if (outcome == Outcome::Impossible)
      return false;
    if (outcome == Outcome::OutOfWork)
      continue;
    best.height = 0;
    for (size_t i = 0; i < best.offsets.size(); ++i)
      best.height =
          std::max(best.height, best.offsets[i] + problem.spans[i].size);
    return true;
  }
  return false;
}

void tts::packing::searchForTarget(const Problem &problem, int64_t target,
                                   int64_t work, Placement &best) {
  if (best.height > target)
    searchAt(problem, target, work, best);
}

void tts::packing::searchByBisection(const Problem &problem, int64_t target,
                                     int64_t work, Placement &best) {
  // Between what was given up and what is known to do.
  static constexpr int rounds = 6;
  int64_t low = target;
  for (int round = 0; round < rounds && best.height - low > 1; ++round) {
    int64_t share = work / rounds;
    const int64_t middle = low + (best.height - low) / 2;
    if (!searchAt(problem, middle, share, best))
      low = middle;
  }
}
