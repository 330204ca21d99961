//===- Candidates.h - what the planner may choose from -------------------===//

#ifndef TTS_LIB_PIPELINES_CANDIDATES_H
#define TTS_LIB_PIPELINES_CANDIDATES_H

#include "Rungs.h"
#include "tts/Pipelines/Planning.h"
#include "tts/Transforms/Plan/Search.h"

namespace tts {

/// Of all trainable parameters, whole.
int64_t countGradientBytes(mlir::ModuleOp differentiated,
                           llvm::StringRef precision);

/// What the phases after Plan are to know of the machine's convolutions.
void noteConvTimes(mlir::ModuleOp module, const plan::Hardware &hardware);

/// What the phases after Plan are to know of ranks and the order of sums.
void noteRanks(mlir::ModuleOp module, const PlanRequest &request);

/// Every bucket at every micro-batch and rung of rematerialization, in one
/// precision, updated apart or (the batch at once) in backward, under one
/// sharding of states and prefetch: estimated from a few that are lowered, and
/// lowered on demand.
class Candidates {
public:
  Candidates(mlir::ModuleOp differentiated, const PlanRequest &request,
             llvm::StringRef precision, bool updateInBackward,
             llvm::StringRef sharding, int64_t prefetch, int64_t batch,
             int64_t numBuckets)
      : module(differentiated), request(request), precision(precision),
        updateInBackward(updateInBackward), sharding(sharding),
        prefetch(prefetch), batch(batch), buckets(numBuckets) {}

  /// Lowers the programs of no bucket, and each bucket once; finds the rungs.
  mlir::LogicalResult prepare();

  llvm::ArrayRef<plan::BucketEstimates> getEstimates() const {
    return estimates;
  }
  const plan::JointSettings &getSettings() const { return settings; }
  plan::Search::Fixed getFixedBytes() const;
  const Exchange &getExchange() const { return exchange; }
  /// Whether a bucket's programs do not depend on the other buckets'.
  bool hasBucketsApart() const {
    return sharding == "none" || sharding == "optimizer";
  }

  /// Lowers what is not yet: pairs of bucket and estimate.
  mlir::LogicalResult
  makeExact(llvm::ArrayRef<std::pair<unsigned, unsigned>> which);
  /// After makeExact.
  plan::JointChoice join(llvm::ArrayRef<unsigned> choice) const;
  /// In estimated figures.
  ConsideredChoice describe(const plan::JointEstimate &choice) const;

  PlanAttr makePlan(llvm::ArrayRef<unsigned> choice) const;

private:
  struct Trial {
    int64_t bucket = 0, microBatch = 1;
    unsigned rung = 0;
    StepMeasure measure;

    int64_t transientBytes() const {
      return measure.arenaBytes - measure.persistentBytes;
    }
  };
  struct Bucket {
    Rungs rungs;
    /// Everything kept as it is, at the smallest and the largest micro-batch:
    /// the estimates stand between and beside them. And as much as possible
    /// computed again, at the smallest: what the solver does not see.
    Trial small, large, least;
    std::map<unsigned, plan::Candidate> exact; ///< by estimate
  };

  mlir::LogicalResult lower(Trial &trial, mlir::TimingScope &timing);
  mlir::LogicalResult findRungs(int64_t bucket);
  void estimate();
  double countMissing(const Bucket &bucket, unsigned rung) const;
  plan::Estimate estimate(const Bucket &bucket, int64_t microBatch,
                          unsigned rung) const;
  plan::ClassBytes estimateClasses(unsigned bucket,
                                   const plan::Estimate &estimate) const;
  /// Work of the clones, as a part of the step's without them.
  ConsideredChoice::Remat rematOf(unsigned bucket, unsigned rung) const;
  double countRecomputedPart(unsigned bucket, unsigned rung) const;
  void readSettings(const StepMeasure &shared);
  void readExchange();
  plan::Candidate makeCandidate(const Trial &trial) const;
  PlanAttr planOf(llvm::ArrayRef<int64_t> microBatches,
                  llvm::ArrayRef<unsigned> rungs) const;
  llvm::SmallVector<int64_t> getMicroBatches() const {
    return plan::microBatchRungs(batch,
                                 updateInBackward ? batch : request.microBatch);
  }
  double shareOf(int64_t bucket) const {
    return request.bucketShares.empty() ? 1.0 / buckets.size()
                                        : request.bucketShares[bucket];
  }

  mlir::ModuleOp module;
  const PlanRequest &request;
  std::string precision;
  bool updateInBackward;
  std::string sharding;
  int64_t prefetch;
  int64_t batch;
  std::vector<Bucket> buckets;
  std::vector<plan::BucketEstimates> estimates;
  plan::JointSettings settings;
  Exchange exchange;
  int64_t sharedTransientBytes = 0;
  llvm::MapVector<llvm::StringRef, unsigned> inputs;
};

} // namespace tts

#endif // TTS_LIB_PIPELINES_CANDIDATES_H
