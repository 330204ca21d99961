//===- Search.h - the fastest choice that fits, from estimates -----------===//
//
// A candidate's true bytes are known once it is lowered and packed, which takes
// too long to do for all. So choices are made and ordered from estimates, and
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
  double microBatchSeconds = 0;
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
  /// Less than this the exact peak is not expected to be.
  int64_t leastBytes = 0;
  double stepSeconds = 0;
};

/// Joint choices in a fixed order that knows no budget, fastest first.
///
/// Every answer is the first choice in that order whose bound is within the
/// budget, where a choice's bound is the larger of its exact peak and its
/// `leastBytes`. So a lower budget never raises the peak nor
/// the speed, and the smallest feasible budget is the least bound; exact peaks
/// are asked for only where the estimate alone does not exceed the budget.
class Search {
public:
  /// What is estimated is at most so much more than it turns out to be, as far
  /// as the search cares: a choice that would need more luck is never tried.
  static constexpr double kOptimism = 0.87;
  /// The exact peak of a choice, or nothing when it cannot be lowered (which
  /// ends the search).
  using Exact =
      llvm::function_ref<std::optional<int64_t>(const JointEstimate &)>;

  /// What persists, without the batch region, and the overhead: as far as they
  /// are known and as far as they are estimated.
  struct Fixed {
    int64_t known = 0, estimated = 0;
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
