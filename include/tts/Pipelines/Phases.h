//===- Phases.h - the order of phases ------------------------*- C++ -*-===//

#ifndef TTS_PIPELINES_PHASES_H
#define TTS_PIPELINES_PHASES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/Timing.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"
#include <optional>

namespace tts {

/// In order; each is `--stop-after`'s name for it in lower case.
enum class Phase {
  Differentiate,
  Plan,
  Specialize,
  Precision,
  Rematerialize,
  Partition,
  Select,
  Memory,
  Lower,
};

llvm::ArrayRef<llvm::StringRef> getPhaseNames();
std::optional<Phase> parsePhase(llvm::StringRef name);

/// What all phases share.
struct PipelineOptions {
  /// Check each phase's contract after it.
  bool verifyContracts = true;
  /// MLIR's own verifier between passes.
  bool verifyEach = true;
  /// The programs of one bucket alone, or of none (kNoBucket); the plan's
  /// evaluation of a candidate.
  std::optional<int64_t> onlyBucket;
  /// Of the plan that lowerToMemory lowers.
  bool updateInBackward = false;
  std::string stateSharding = "none";
  /// Gathers begun ahead of their use, and scatters beside what follows.
  int64_t prefetch = 0;
  static constexpr int64_t kNoBucket = -2;
  /// Where each phase gets a timer, with its passes below it; or null.
  mlir::TimingScope *timing = nullptr;
};

/// Appends one phase's passes. Plan has none here: it is a choice that needs
/// the request (Planning.h).
void buildPhase(Phase phase, mlir::OpPassManager &manager,
                const PipelineOptions &options);

/// Runs phases `first` to `last`, but for Plan.
llvm::LogicalResult runPhases(mlir::ModuleOp module, Phase first, Phase last,
                              const PipelineOptions &options = {});

/// A copy of a differentiated module under a plan, after Memory.
llvm::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>>
lowerToMemory(mlir::ModuleOp differentiated, PlanAttr plan,
              const PipelineOptions &options = {});

/// Loads what those phases' passes create. A pass manager loads dialects when
/// it runs, and a context cannot load while another thread uses it: call this
/// before phases run side by side.
void loadDialects(mlir::MLIRContext &context, Phase first, Phase last,
                  const PipelineOptions &options = {});

} // namespace tts

#endif // TTS_PIPELINES_PHASES_H
