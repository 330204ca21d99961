//===- ScaleParts.h - a layout's tasks and what they take -------*- C++ -*-===//

#ifndef TTS_LIB_TRANSFORMS_PLAN_SCALEPARTS_H
#define TTS_LIB_TRANSFORMS_PLAN_SCALEPARTS_H

#include "tts/Transforms/Plan/Scale.h"

namespace tts::plan {

/// One piece of one stage, in seconds; and the numbers of them.
struct ScaleParts {
  ScaleParts(const ScaleWork &work, const ScaleLayout &layout,
             const Hardware &hardware);

  int64_t pieces, microBatches;
  double forward, backward, update;
  /// Of a piece: gathering its parameters, summing its gradient into shards,
  /// summing it whole.
  double gather, scatter, reduce;
  /// Of a micro-batch to the next stage.
  double send;
};

} // namespace tts::plan

#endif // TTS_LIB_TRANSFORMS_PLAN_SCALEPARTS_H
