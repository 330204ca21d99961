//===- Flags.h - the planning flags of CONTRACT.md ----------*- C++ -*-===//

#ifndef TTS_LIB_DRIVER_FLAGS_H
#define TTS_LIB_DRIVER_FLAGS_H

#include "Failure.h"
#include "tts/Pipelines/Planning.h"
#include "llvm/Support/CommandLine.h"

namespace tts {

/// Gives LLVM's own options of our names another one ("llvm-threads"), since a
/// second definition aborts at start. Call before PlanningFlags is made.
void freeOptionNames();

/// Parses; a wrong flag is a usage error of one line.
llvm::Error parseCommandLine(int argc, char **argv, llvm::StringRef overview);

/// Virtual shards of a corpus (CONTRACT.md): a rank that trains owns at least
/// one; plans may be asked for more ranks.
inline constexpr int64_t kMostRanks = 64, kMostPlannedRanks = 1 << 20;

/// The flags that tts-opt and tts-compile share. One instance, made by the
/// tool; a library or plugin that is only loaded has none.
struct PlanningFlags {
  template <typename T> using opt = llvm::cl::opt<T>;
  template <typename T> using list = llvm::cl::list<T>;

  static llvm::cl::OptionCategory &category();

  opt<std::string> memoryBudget, target, gpuArch, hardware;
  opt<int64_t> threads, ranks;
  opt<std::string> pipeline, shardStates;
  opt<int64_t> batch, batchFrames;
  opt<bool> allowBatchChange;
  opt<std::string> lrScale;
  opt<int64_t> lrBaseBatch;
  opt<std::string> microBatch, precision, halfStorage, remat, fusion;
  list<std::string> buckets;
  opt<std::string> bucketsFrom, optimizer, optimizerInBackward;
  opt<double> gradClip, ema;
  list<std::string> freeze;
  opt<bool> deterministic, explain;
  opt<std::string> planJson, planFront, planTable, stopAfter;

  PlanningFlags();

  /// Whether any of them was given.
  bool isPlanning() const;
  /// Refuses values that are wrong and ways that are not built yet.
  llvm::Error check() const;
};

/// On a module whose updates are counted in frames: how many; its batch is what
/// that is in utterances, on average.
inline constexpr llvm::StringLiteral kBatchFramesAttr = "tts.batch_frames";

/// On a module whose rate was scaled by its batch: the rule.
inline constexpr llvm::StringLiteral kLrScaleAttr = "tts.lr_scale";

/// On a module: the hash of the features it was made for, and of the corpus
/// that its buckets are from.
inline constexpr llvm::StringLiteral kFeaturesHashAttr = "tts.features_hash",
                                     kCorpusHashAttr = "tts.corpus_hash";

/// Writes flags over the module's attributes: buckets (with what a corpus
/// says), optimizer, clipping, EMA, frozen parameters; the batch is
/// BatchSetting's. What makes it another experiment than the model's is added
/// to `changes`.
llvm::Error applyFlags(mlir::ModuleOp module, const PlanningFlags &flags,
                       PlanRequest &request, std::vector<std::string> &changes);

/// Budget, hardware, threads, precision and micro-batch out of flags and
/// module attributes.
llvm::Error readRequest(mlir::ModuleOp module, const PlanningFlags &flags,
                        PlanRequest &request);

} // namespace tts

#endif // TTS_LIB_DRIVER_FLAGS_H
