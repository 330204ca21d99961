//===- Candidate.h - candidates of a bucket, what they come to together --===//

#ifndef TTS_TRANSFORMS_PLAN_CANDIDATE_H
#define TTS_TRANSFORMS_PLAN_CANDIDATE_H

#include "tts/Transforms/Plan/LiveBytes.h"
#include <optional>
#include <vector>

namespace tts::plan {

/// The micro-batches worth trying: powers of two below the batch, and the
/// batch itself; only `pinned` (at most the batch) when it is given.
llvm::SmallVector<int64_t> microBatchRungs(int64_t batch,
                                           std::optional<int64_t> pinned = {});

/// How many micro-batches a bucket needs in one update, on average: each of
/// `batch` utterances belongs to it with probability `share`, the last
/// micro-batch may be partial.
double expectedMicroBatches(int64_t batch, double share, int64_t microBatch);

/// One bucket at one micro-batch, scheduled and packed.
struct Candidate {
  int64_t microBatch = 1;
  /// Of the arena above what persists.
  int64_t transientBytes = 0;
  /// The persistent batch region, one per input of the model in one order:
  /// a joint arena has each as large as its largest bucket wants it, rounded up
  /// to the alignment.
  llvm::SmallVector<int64_t> batchBytes;
  /// Distinct library primitives (hashes), ascending.
  std::vector<uint64_t> primitives;
  /// The most that is live at once, above what persists.
  int64_t liveTransientBytes = 0;
  /// Of one micro-batch: denominators, forward and backward.
  double microBatchSeconds = 0;
  /// Of these, by class.
  ClassBytes transientClasses = {};
};

/// What no choice changes.
struct JointSettings {
  /// Utterances that are cut into micro-batches together, and how often in an
  /// update.
  int64_t batch = 1, groups = 1;
  /// The persistent arena without the batch region; what is in it by class, not
  /// rounded up.
  int64_t persistentBytes = 0;
  ClassBytes states = {};
  /// Outside the arena, without primitives.
  int64_t overheadBytes = 0;
  int64_t primitiveBytes = 0;
  /// Of `zero` and `update`.
  double updateSeconds = 0;
  /// Of the programs that no bucket has of its own, as in Candidate.
  int64_t liveTransientBytes = 0;
  ClassBytes transientClasses = {};
};

/// One candidate for each bucket, and what they come to together.
struct JointChoice {
  int64_t arenaBytes = 0, overheadBytes = 0;
  /// The most bytes live at once: no arena is smaller.
  int64_t lowerBoundBytes = 0;
  double stepSeconds = 0;
  /// Of one micro-batch, by bucket.
  llvm::SmallVector<double> microBatchSeconds;
  /// Of the arena, at the peak of those programs where most is live; the rest
  /// of it is unused then.
  ClassBytes classes = {};

  int64_t peakBytes() const { return arenaBytes + overheadBytes; }
};

/// What is live by class, with `batchBytes` in the batch region.
ClassBytes joinClasses(const ClassBytes &states, const ClassBytes &transients,
                       llvm::ArrayRef<int64_t> batchBytes);

/// Buckets share what persists and never run at the same time; `shares` of the
/// utterances, by bucket.
JointChoice joinCandidates(const JointSettings &settings,
                           llvm::ArrayRef<double> shares,
                           llvm::ArrayRef<const Candidate *> candidates);

} // namespace tts::plan

#endif // TTS_TRANSFORMS_PLAN_CANDIDATE_H
