//===- Planning.h - from a request to the plan ---------------*- C++ -*-===//

#ifndef TTS_PIPELINES_PLANNING_H
#define TTS_PIPELINES_PLANNING_H

#include "tts/Pipelines/Phases.h"
#include "tts/Pipelines/PlanFront.h"
#include "tts/Pipelines/StepMeasure.h"

namespace tts {

/// What the planner must keep to; batch and buckets stand on the module.
struct PlanRequest {
  plan::Hardware hardware;
  /// Bytes; without it what the hardware offers.
  std::optional<int64_t> budget;
  /// Of each rank where they differ, else empty; `budget` is then the least.
  llvm::SmallVector<int64_t> budgets;
  /// Pinned.
  std::optional<int64_t> microBatch;
  /// "auto": fp32, or bf16 where that is one of the hardware's strengths;
  /// anything else pins it.
  std::string precision = "fp32";
  /// "auto"; "none" and "full" pin it.
  std::string remat = "auto";
  /// "none"; "auto": backward may update the parameters; "on" pins it.
  std::string optimizerInBackward = "none";
  /// In what activations of a program in f32 may be kept between forward and
  /// backward: "none", "bf16", "fp16", or "auto", which is bf16.
  std::string halfStorage = "none";
  int threads = 1;
  /// Data replicas; each takes its share of the batch.
  int64_t ranks = 1;
  /// Sums over micro-batches have one order on 1, 2 and 4 ranks.
  bool deterministic = false;
  /// Groups of shards that a rank sums apart.
  int64_t groupsOfRank() const;
  /// Which states each of several ranks has shards of only: "none",
  /// "optimizer", "gradients" as well, "parameters" as well, or "auto": none,
  /// unless only with shards there is a plan.
  std::string shardStates = "auto";
  /// Stages of a pipeline that the ranks are divided into; without it several
  /// only where nothing else fits.
  std::optional<int64_t> stages;
  /// Frames of an utterance, on average; 0: not known.
  double framesOfUtterance = 0;
  /// Of the utterances, one per bucket; equal when empty.
  llvm::SmallVector<double> bucketShares;
  /// To be answered besides, whatever the hardware offers.
  llvm::SmallVector<int64_t> furtherBudgets;
  /// Where nothing fits, whether to look for what to leave out.
  bool seeksWayOut = true;
  /// Kept between requests that differ in their budgets alone: filled where it
  /// is empty, every choice lowered and packed, else looked up. Or null.
  PlanFront *front = nullptr;
  /// Whether the programs under the plan are wanted, too; else a choice that is
  /// looked up is not lowered: its role has no programs, no host buffer and no
  /// more of a measure than is printed.
  bool needsProgram = true;
  /// Where the candidates and the plan's phases get timers; or null.
  mlir::TimingScope *timing = nullptr;

  /// The type that activations may be kept in where it computes in `precision`;
  /// null for none.
  mlir::FloatType halfTypeOf(llvm::StringRef precision,
                             mlir::MLIRContext *context) const;
  /// What is wrong with half storage at this precision, or "".
  std::string findStorageFault() const;
};

/// Which choice a budget gets, or none.
struct BudgetAnswer {
  int64_t budget = 0;
  std::optional<size_t> choice;
};

/// What some of the ranks run, lowered and packed.
struct PlanRole {
  llvm::SmallVector<int64_t> ranks;
  /// Theirs; of what was considered the choice taken, and its plan.
  int64_t budget = 0;
  size_t taken = 0;
  PlanAttr plan;
  StepMeasure measure;
  int64_t hostBufferBytes = 0, overheadBytes = 0;
  /// The programs under the plan, after Memory.
  mlir::OwningOpRef<mlir::ModuleOp> lowered;

  int64_t peakBytes() const { return measure.arenaBytes + overheadBytes; }
};

/// The role of the largest peak; there is one.
const PlanRole &findLargest(llvm::ArrayRef<PlanRole> roles);

/// The stages of a pipeline that a plan is for.
struct PlanStages {
  int64_t count = 1;
  /// The ops of forward that all but the first begin with.
  mlir::ArrayAttr starts;
  /// Of an update, the part of its time in which a stage waits for others.
  double bubble = 0;
};

/// A chosen plan with its exact figures; all are a rank's, where ranks differ
/// those of the role of the largest peak.
struct PlanResult {
  PlanAttr plan;
  /// False: no candidate fits; the figures are those of the smallest.
  bool fits = false;
  /// Asked for and offered, whichever is less; what the hardware offers.
  int64_t budget = 0, offered = 0;
  bool isClamped = false;
  /// Budgets differ: ranks in the same place run different plans.
  bool isMixed() const { return stages.count == 1 && roles.size() > 1; }

  /// Of the utterances, by bucket.
  llvm::SmallVector<double> shares;
  int64_t batch = 0;
  /// Fastest first by the estimates, each smaller than the one before; and
  /// which of them was taken.
  std::vector<ConsideredChoice> considered;
  size_t taken = 0;
  std::vector<BudgetAnswer> answers;
  /// Where nothing fits: what to leave out of the request so that a plan does.
  std::string wayOut;
  Exchange exchange;
  int64_t eagerBytes = 0;
  double stepSeconds = 0;
  PlanStages stages;
  /// One, or where ranks differ several; each rank has one.
  std::vector<PlanRole> roles;

  /// The role of the largest peak.
  const PlanRole &role() const { return findLargest(roles); }
  int64_t peakBytes() const { return role().peakBytes(); }
  /// What is asked for, or what there is where that is less.
  void setBudget(const PlanRequest &request);
  /// The least for which there is a plan.
  int64_t smallestBudget = 0;

  const ConsideredChoice &choice() const { return considered[taken]; }
};

/// Looks at what there is to choose from for a differentiated module and picks;
/// changes nothing.
/// Fails with a diagnostic when a candidate cannot be lowered; that nothing
/// fits is a result.
llvm::FailureOr<PlanResult> makePlan(mlir::ModuleOp differentiated,
                                     const PlanRequest &request);

/// Every choice for the request, whatever its budget, in estimated figures.
llvm::FailureOr<PlanFront> estimateFront(mlir::ModuleOp differentiated,
                                         const PlanRequest &request);

/// Tells a module, from Partition on, which stage of a pipeline it is to be.
void noteStage(mlir::ModuleOp module, const PlanRequest &request,
               mlir::ArrayAttr starts, int64_t stage);

/// Puts the plan, the ranks it is for where they are several, and that it is
/// deterministic, on the module.
void notePlan(mlir::ModuleOp module, const PlanRequest &request,
              const PlanResult &result);

/// A rank's part of the batch, the largest where they differ.
int64_t shareOfBatch(int64_t batch, int64_t ranks);

/// Utterances that a rank's loader has room for: its share of one update and of
/// the next; of several ranks one more, for where it gets more than its share.
int64_t hostUtterances(int64_t share, int64_t ranks);

/// "rank 1", "ranks 0, 2".
std::string ranksText(llvm::ArrayRef<int64_t> ranks);

/// One line: smallest feasible budget, what binds, the cheapest way out.
std::string explainInfeasible(const PlanResult &result);

} // namespace tts

#endif // TTS_PIPELINES_PLANNING_H
