//===- Stages.h - a module becomes one stage of a pipeline ----------------===//

#ifndef TTS_LIB_TRANSFORMS_PARTITION_STAGES_H
#define TTS_LIB_TRANSFORMS_PARTITION_STAGES_H

#include "mlir/IR/BuiltinOps.h"

namespace tts::partition {

/// Leaves of every program what stage `tts.stage` of those that
/// `tts.stage_starts` begins computes, with what it exchanges with others, of
/// each of `replicas` of the model.
llvm::LogicalResult cutStage(mlir::ModuleOp module, int64_t replicas);

} // namespace tts::partition

#endif // TTS_LIB_TRANSFORMS_PARTITION_STAGES_H
