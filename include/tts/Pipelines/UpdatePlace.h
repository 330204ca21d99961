//===- UpdatePlace.h - whether backward may update parameters ---*- C++ -*-===//

#ifndef TTS_PIPELINES_UPDATEPLACE_H
#define TTS_PIPELINES_UPDATEPLACE_H

#include "tts/Pipelines/Planning.h"

namespace tts {

/// Why parameters cannot be updated in backward.
struct UpdateRefusal {
  std::string what, todo;
};

/// An update has several micro-batches: a gradient is not final in backward.
std::optional<UpdateRefusal>
findSeveralMicroBatches(mlir::ModuleOp module, const PlanRequest &request);

/// What in the request contradicts its `optimizerInBackward`: something that
/// needs all gradients before the first update, and where it is pinned several
/// micro-batches.
std::optional<UpdateRefusal> findUpdateRefusal(mlir::ModuleOp module,
                                               const PlanRequest &request);

} // namespace tts

#endif // TTS_PIPELINES_UPDATEPLACE_H
