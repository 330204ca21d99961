//===- RematOracle.h - exact optima of tiny problems ---------------------===//
//
// Shares nothing with the solver but the problem: states are the sets of values
// in memory between two steps, and every set of recomputed values is tried.

#ifndef TTS_UNITTEST_PLAN_REMATORACLE_H
#define TTS_UNITTEST_PLAN_REMATORACLE_H

#include "tts/Transforms/Plan/Remat.h"
#include <algorithm>
#include <limits>

namespace tts::plan {

class RematOracle {
public:
  explicit RematOracle(const RematProblem &problem) : problem(problem) {
    for (unsigned i = 0; i < problem.ops.size(); ++i)
      if (!problem.ops[i].isFree)
        stored |= 1u << i;
  }

  /// Least added seconds at a peak of at most `limit`; infinite if there are
  /// none. No operation may fuse or be a view.
  double solve(int64_t limit) const {
    const unsigned sets = 1u << problem.ops.size();
    const double never = std::numeric_limits<double>::infinity();
    std::vector<double> cost(sets, never);
    for (unsigned kept = 0; kept < sets; ++kept)
      if ((kept & ~stored) == 0 && forwardPeak(kept) <= limit)
        cost[kept] = 0;
    for (const RematStep &step : problem.steps) {
      std::vector<double> next(sets, never);
      for (unsigned have = 0; have < sets; ++have) {
        if (cost[have] == never)
          continue;
        for (unsigned again = 0; again < sets; ++again)
          if ((again & (have | ~stored)) == 0 && isPossible(step, have, again))
            for (unsigned keep = have | again;;
                 keep = (keep - 1) & (have | again)) {
              if (cost[have] + seconds(again) < next[keep] &&
                  peak(step, have, again, keep) <= limit)
                next[keep] = cost[have] + seconds(again);
              if (keep == 0)
                break;
            }
      }
      cost = std::move(next);
    }
    return *std::min_element(cost.begin(), cost.end());
  }

private:
  bool isIn(unsigned set, unsigned i) const { return set >> i & 1; }

  double seconds(unsigned set) const {
    double sum = 0;
    for (unsigned i = 0; i < problem.ops.size(); ++i)
      sum += isIn(set, i) ? problem.ops[i].seconds : 0;
    return sum;
  }

  int64_t bytes(unsigned set) const {
    int64_t sum = 0;
    for (unsigned i = 0; i < problem.ops.size(); ++i)
      sum += isIn(set, i) ? problem.ops[i].bytes : 0;
    return sum;
  }

  unsigned maskOf(llvm::ArrayRef<unsigned> values) const {
    unsigned set = 0;
    for (unsigned value : values)
      set |= 1u << value;
    return set & stored;
  }

  bool isPossible(const RematStep &step, unsigned have, unsigned again) const {
    unsigned wanted = maskOf(step.uses);
    for (unsigned i = 0; i < problem.ops.size(); ++i)
      if (isIn(again, i)) {
        if (!problem.ops[i].canRecompute)
          return false;
        wanted |= maskOf(problem.ops[i].operands);
      }
    return (wanted & ~(have | again)) == 0;
  }

  int64_t peak(const RematStep &step, unsigned have, unsigned again,
               unsigned keep) const {
    int64_t most = 0;
    unsigned there = have;
    for (unsigned i = 0; i <= problem.ops.size(); ++i) {
      const bool isStep = i == problem.ops.size();
      if (!isStep && !isIn(again, i))
        continue;
      // What is read from here on, or carried further.
      unsigned wanted = keep | maskOf(step.uses);
      for (unsigned later = i; later < problem.ops.size(); ++later)
        if (isIn(again, later))
          wanted |= maskOf(problem.ops[later].operands);
      there &= wanted;
      if (isStep)
        return std::max(most, bytes(there) + step.liveDuring);
      there |= 1u << i;
      most = std::max(most, bytes(there) + step.liveBefore +
                                problem.ops[i].scratchBytes);
    }
    return most;
  }

  int64_t forwardPeak(unsigned kept) const {
    int64_t most = 0;
    for (unsigned i = 0; i < problem.ops.size(); ++i) {
      unsigned live = kept & ((2u << i) - 1);
      for (unsigned reader = i; reader < problem.ops.size(); ++reader)
        live |= maskOf(problem.ops[reader].operands) & ((2u << i) - 1);
      live |= (1u << i) & stored;
      most = std::max(most, bytes(live) + problem.ops[i].scratchBytes);
    }
    return most;
  }

  const RematProblem &problem;
  unsigned stored = 0;
};

} // namespace tts::plan

#endif // TTS_UNITTEST_PLAN_REMATORACLE_H
