//===- Search.h - the fastest choice that fits, from estimates -----------===//
//
// A candidate's true bytes and seconds are known once it is lowered and packed,
// which takes too long to do for all. So choices are made from estimates, and
// only those that may be the answer are made exact.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_TRANSFORMS_PLAN_SEARCH_H
#define TTS_TRANSFORMS_PLAN_SEARCH_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <optional>
#include <vector>

namespace tts::plan {

/// One bucket at one micro-batch and one rung of rematerialization.
struct Estimate {
  int64_t microBatch = 1;
  unsigned rung = 0;
  /// Of the arena above what persists.
  int64_t transientBytes = 0;
  /// Of one micro-batch; less than the second are not expected once it is
  /// lowered.
  double microBatchSeconds = 0, leastSeconds = 0;
  /// The persistent batch region, one per input, as in Candidate.
  llvm::SmallVector<int64_t> batchBytes;
};

struct BucketEstimates {
  double share = 1;
  std::vector<Estimate> estimates;
};

/// One estimate for each bucket, and what they come to together.
struct JointEstimate {
  /// Which of the searches that were merged it comes from.
  unsigned group = 0;
  llvm::SmallVector<unsigned> choice;
  int64_t peakBytes = 0;
  double stepSeconds = 0;
  /// Less than these the exact figures are not expected to be.
  int64_t leastBytes = 0;
  double leastSeconds = 0;
};

/// Of a choice that was lowered and packed.
struct ExactFigures {
  int64_t peakBytes = 0;
  double stepSeconds = 0;
};

/// Joint choices that know no budget, fastest first by the estimates.
///
/// Each has a bound on its bytes and one on its seconds: the larger of what is
/// exact and the least that was expected. An answer is the choice of the least
/// seconds (then bytes) among all whose bytes are within the budget. More
/// budget is more to choose from, so it never makes a step slower, nor does
/// less raise the peak; the smallest feasible budget is the least bound on
/// bytes. Which choices are made exact on the way changes no answer: those that
/// the estimates alone rule out are not.
class Search {
public:
  /// What is estimated is at most so much more than it turns out to be, as far
  /// as the search cares: a choice that would need more luck is never tried.
  static constexpr double kOptimism = 0.87;
  /// So many may be lowered side by side.
  static constexpr unsigned kAtOnce = 2;
  using Choices = llvm::SmallVector<const JointEstimate *, kAtOnce>;
  /// The exact figures of a few choices, or none when one cannot be lowered
  /// (which ends the search).
  using Exact = llvm::function_ref<std::vector<ExactFigures>(const Choices &)>;

  /// What persists, without the batch region, and the overhead: as far as they
  /// are known and as far as they are estimated; what the estimate is at least.
  struct Fixed {
    int64_t known = 0, estimated = 0, least = 0;
  };
  Search(int64_t batch, Fixed fixed, double updateSeconds,
         llvm::ArrayRef<BucketEstimates> buckets);

  /// Choices as a search has left them.
  explicit Search(std::vector<JointEstimate> choices)
      : joint(std::move(choices)) {}

  /// The choices of several searches (of one precision each) in one order;
  /// `group` tells where a choice comes from.
  static Search merge(llvm::ArrayRef<Search> searches);

  llvm::ArrayRef<JointEstimate> choices() const { return joint; }

  /// The fastest within the budget; null when there is none or `exact` failed.
  const JointEstimate *pick(int64_t budget, Exact exact) const;
  /// The choice of the least bound, and that bound.
  struct Smallest {
    const JointEstimate *choice = nullptr;
    int64_t budget = 0;
  };
  Smallest findSmallest(Exact exact) const;

private:
  Search() = default;
  void enumerate(int64_t batch, Fixed fixed, double updateSeconds,
                 llvm::ArrayRef<BucketEstimates> buckets);
  void dropDominated();

  std::vector<JointEstimate> joint;
};

} // namespace tts::plan

#endif // TTS_TRANSFORMS_PLAN_SEARCH_H
