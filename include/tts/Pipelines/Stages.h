//===- Stages.h - planning a pipeline of stages ---------------------------===//

#ifndef TTS_PIPELINES_STAGES_H
#define TTS_PIPELINES_STAGES_H

#include "tts/Pipelines/Planning.h"

namespace tts {

/// Why a request's ranks cannot be stages, or nothing.
struct StageRefusal {
  std::string what, todo;
};
std::optional<StageRefusal> findStageRefusal(mlir::ModuleOp differentiated,
                                             const PlanRequest &request,
                                             int64_t stages);

/// The fastest plan that fits of `stages` stages of ranks / stages replicas
/// each. A few choices of one replica alone, whatever the budget, are cut in
/// two ways each, by time and by bytes, and every stage is lowered and packed.
llvm::FailureOr<PlanResult> planStages(mlir::ModuleOp differentiated,
                                       const PlanRequest &request,
                                       int64_t stages);

/// Where nothing else fits, as `result` says: a plan of as few stages as do, or
/// else what comes nearest.
PlanResult tryStages(mlir::ModuleOp differentiated, const PlanRequest &request,
                     PlanResult result);

} // namespace tts

#endif // TTS_PIPELINES_STAGES_H
