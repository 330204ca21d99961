//===- WholeBatch.h - models whose batch cannot be split ------*- C++ -*-===//

#ifndef TTS_PIPELINES_WHOLEBATCH_H
#define TTS_PIPELINES_WHOLEBATCH_H

#include "tts/Pipelines/Planning.h"

namespace tts {

/// The first op of the model that needs all utterances of an update in one
/// micro-batch (`NeedsWholeBatch`), or null.
mlir::Operation *findWholeBatchOp(mlir::ModuleOp differentiated);

/// Why a request would split the batch of such a model.
struct SplitBatch {
  mlir::Location place; ///< of the layer
  std::string what, todo;
};
std::optional<SplitBatch> findSplitBatch(mlir::ModuleOp differentiated,
                                         const PlanRequest &request);

} // namespace tts

#endif // TTS_PIPELINES_WHOLEBATCH_H
