//===- Bound.h - a Lagrangian bound, with some values decided ------------===//

#ifndef TTS_LIB_TRANSFORMS_PLAN_REMAT_BOUND_H
#define TTS_LIB_TRANSFORMS_PLAN_REMAT_BOUND_H

#include "tts/Transforms/Plan/Remat.h"

#include <functional>
#include <optional>

namespace tts::plan {

class RematCut;

/// Prices for each byte over the room in every step: a relaxed plan at these
/// prices costs less than any plan under the limit.
class RematDual {
public:
  RematDual(const RematProblem &problem, int64_t limit);

  /// What is known of a value: nothing, that it is never computed again, or
  /// that it is.
  enum class Fate : char { Open, Stored, Again };
  /// The bound is that of plans with these fates, by operation.
  void setFates(std::vector<Fate> decided) { fates = std::move(decided); }

  /// Is shown each relaxed plan from now on.
  using Visit = std::function<void(const RematCut &)>;
  void setVisit(Visit each) { visit = std::move(each); }

  using Prices = std::vector<double>;
  /// Prices for a single moment each, the best of them.
  Prices findStart(unsigned moments);
  /// Improves `from`; `known` is what some plan costs. The best bound found for
  /// today's fates, and its prices in `from`.
  double climb(double known, unsigned iterations, double pace, Prices &from);
  /// The open value that the last climb could decide least, or none.
  std::optional<unsigned> mostUndecided() const;

private:
  void findReaders();
  void findTraces();
  void roundRoom();
  /// Bytes of `op` in the steps strictly between two, at today's prices.
  double between(unsigned op, unsigned after, unsigned before) const {
    return before > after + 1 ? (sums[before] - sums[after + 1]) *
                                    double(problem.ops[op].bytes)
                              : 0;
  }
  double priceOfKeeping(unsigned op) const;
  double priceOfSpans(unsigned op, std::vector<bool> *charged) const;
  double evaluate();
  void collectSlopes(const RematCut &cut);
  void addSpan(unsigned op, unsigned after, unsigned before);
  double searchLine(const std::vector<double> &direction);
  std::vector<unsigned> tightMoments(unsigned count) const;

  const RematProblem &problem;
  unsigned numSteps;
  /// Steps that read each value, views looked through, ascending.
  std::vector<std::vector<unsigned>> readers;
  /// Of values that no step reads, see findTraces.
  std::vector<double> traceBytes;
  std::vector<unsigned> traceEnd;
  /// What is left for values that the step does not read. The last one is the
  /// moment before backward, when all that was kept is live.
  std::vector<double> room;
  Prices prices;
  std::vector<double> sums, slopes;
  std::vector<Fate> fates;
  Visit visit;
  /// In how many of the climb's relaxed plans each value was computed again,
  /// later ones weighing more.
  std::vector<double> againShare;
  double value = 0, best = 0, allSeconds = 0;
};

/// The best bound for open fates, by cases. `known` is what some plan costs;
/// the visitor may lower it. `work` relaxed plans times operations and steps
/// are tried.
double boundByCases(const RematProblem &problem, RematDual &dual,
                    const double &known, size_t work);

} // namespace tts::plan

#endif // TTS_LIB_TRANSFORMS_PLAN_REMAT_BOUND_H
