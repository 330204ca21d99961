//===- Pipeline.h - cutting a chain of layers into stages -------*- C++ -*-===//
//
// Where to cut forward, and how long an update takes in the stages that are
// left: 1F1B (Narayanan et al., PipeDream, SOSP 2019; Megatron-LM,
// arXiv:2104.04473, §2.2).
//
//===----------------------------------------------------------------------===//

#ifndef TTS_TRANSFORMS_PLAN_PIPELINE_H
#define TTS_TRANSFORMS_PLAN_PIPELINE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace tts::plan {

/// How many micro-batches a stage has under way at most.
inline int64_t slotsOfStage(int64_t stage, int64_t stages) {
  return stages - stage;
}

/// What one op of forward brings to its stage.
struct ChainOp {
  double seconds = 0;
  /// Of the states of parameters that it is the first to read; and of what is
  /// kept of it for backward, of each micro-batch under way.
  int64_t stateBytes = 0, keptBytes = 0;
  /// Of what ops before it made and it or later ones read.
  int64_t crossingBytes = 0;
};

/// Where each stage but the first begins, so that the largest is as small as
/// can be: by seconds, or by bytes, of which early stages have more
/// micro-batches under way. From there a cut moves to the place near it, within
/// 2 % of the whole either way, that the fewest bytes cross. Empty: there are
/// fewer ops than stages.
enum class Balance { Seconds, Bytes };
llvm::SmallVector<size_t> cutChain(llvm::ArrayRef<ChainOp> ops, int64_t stages,
                                   Balance balance);

/// Of one micro-batch, on average.
struct StageTimes {
  double forward = 0, backward = 0;
  /// Until what it sends has come, in forward and in backward.
  double sendForward = 0, sendBackward = 0;
};

/// All micro-batches through all stages, forward and back.
double pipelineSeconds(llvm::ArrayRef<StageTimes> stages, int64_t microBatches);

} // namespace tts::plan

#endif // TTS_TRANSFORMS_PLAN_PIPELINE_H
