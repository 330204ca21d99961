//===- PlanFront.h - what one model's budgets choose from ----*- C++ -*-===//

#ifndef TTS_PIPELINES_PLANFRONT_H
#define TTS_PIPELINES_PLANFRONT_H

#include "tts/Dialect/Tts/IR/TtsDialect.h"
#include "tts/Transforms/Plan/Candidate.h"
#include "tts/Transforms/Plan/Search.h"
#include <numeric>
#include <string>

namespace tts {

/// One choice for all buckets that the planner had.
struct ConsideredChoice {
  std::string precision;
  bool updateInBackward = false;
  std::string stateSharding = "none";
  /// How many gathers are begun ahead of their use; 0: nothing overlaps.
  int64_t prefetch = 0;
  /// By bucket; `recomputedParts` are floating-point operations done again, as
  /// a part of those of a step without.
  llvm::SmallVector<int64_t> microBatches;
  llvm::SmallVector<double> recomputedParts;
  /// By bucket, how many activations are kept in half until backward.
  llvm::SmallVector<int64_t> storedValues;
  /// How much is computed again in the bucket where that is most.
  enum class Remat { None, ElementWise, Partial, Most } remat = Remat::None;
  /// The peak, what of it is outside the arena, and what is live inside at the
  /// peak of the largest bucket; the rest is unused then.
  int64_t peakBytes = 0, overheadBytes = 0;
  plan::ClassBytes classes = {};
  double stepSeconds = 0;
  /// Lowered and packed; else all figures are estimates.
  bool isExact = false;
  /// Of what is exact: the most bytes live at once, and by bucket seconds of
  /// one micro-batch.
  int64_t lowerBoundBytes = 0;
  llvm::SmallVector<double> microBatchSeconds;

  int64_t arenaBytes() const { return peakBytes - overheadBytes; }
  int64_t unusedBytes() const {
    return peakBytes -
           std::accumulate(classes.begin(), classes.end(), overheadBytes);
  }
  void setExact(const plan::JointChoice &joint) {
    isExact = true;
    peakBytes = joint.peakBytes();
    overheadBytes = joint.overheadBytes;
    classes = joint.classes;
    stepSeconds = joint.stepSeconds;
    lowerBoundBytes = joint.lowerBoundBytes;
    microBatchSeconds = joint.microBatchSeconds;
  }
};

/// What ranks exchange in one update, of each of them.
struct Exchange {
  int64_t ranks = 1;
  /// Sent once per update (gradients that are summed, parameters that are
  /// gathered), and how long that takes.
  int64_t allReduceBytes = 0;
  double allReduceSeconds = 0;
  /// Likewise in each micro-batch, where gradients or parameters are sharded.
  int64_t microBatchBytes = 0;
  double microBatchSeconds = 0;
  /// Held by the collective library outside the arena.
  int64_t bufferBytes = 0;
};

/// Every choice worth having for a request, whatever its budget: another
/// budget's answer is looked up in it.
struct PlanFront {
  /// What the choices of one precision and place of the update share.
  struct Group {
    plan::JointSettings settings;
    Exchange exchange;
  };
  struct Choice {
    /// In the order of `plan::Search`.
    plan::JointEstimate estimate;
    PlanAttr plan;
    ConsideredChoice figures;
  };
  std::vector<Group> groups;
  std::vector<Choice> choices;
  /// Of the utterances, by bucket.
  llvm::SmallVector<double> shares;
  /// Found in this process, not read.
  bool isNew = false;
};

} // namespace tts

#endif // TTS_PIPELINES_PLANFRONT_H
