//===- Scale.h - a job on many ranks: time and bytes by formulas -*- C++
//-*-===//
//
// How an update of the same batch would go on data x stages ranks with states
// whole or in shards. Formulas, and a simulation of the schedule they stand for
// that checks them. docs/scale.md derives both.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_TRANSFORMS_PLAN_SCALE_H
#define TTS_TRANSFORMS_PLAN_SCALE_H

#include "tts/Transforms/Plan/Hardware.h"

namespace tts::plan {

/// Which states a rank holds a shard of (ZeRO 0 to 3; Rajbhandari et al.,
/// arXiv:1910.02054); each includes the one before.
enum class Sharding { None, Optimizer, Gradients, Parameters };

llvm::StringRef shardingName(Sharding sharding);

/// What an update takes of each rank where all are data replicas.
struct ScaleWork {
  int64_t ranks = 1;
  /// Of one micro-batch through all layers, and how many a replica runs.
  double forwardSeconds = 0, backwardSeconds = 0, microBatches = 1;
  /// Of the largest micro-batch.
  int64_t utterances = 1;
  /// Of all parameters, without what ranks exchange.
  double updateSeconds = 0;
  /// Of all parameters; the half copies are the parameters', EMA the
  /// optimizer's.
  int64_t parameterBytes = 0, gradientBytes = 0, optimizerBytes = 0;
  /// What forward keeps of one micro-batch, and what else a rank holds.
  int64_t activationBytes = 0, otherBytes = 0;
  /// What one layer hands to the next of one micro-batch.
  int64_t boundaryBytes = 0;
  /// In how many equal parts gradients become final, one after another.
  int64_t pieces = 1;
  /// Collectives go on beside the arithmetic.
  bool overlaps = false;
};

/// data · stages = ranks. Stages want many micro-batches: each is split into so
/// many, which take their part of its time.
struct ScaleLayout {
  int64_t data = 1, stages = 1;
  Sharding sharding = Sharding::None;
  int64_t split = 1;
};

struct ScalePrediction {
  /// Of a rank: arithmetic; waiting for other stages; waiting for collectives
  /// and sends; all of it.
  double computeSeconds = 0, bubbleSeconds = 0, exposedSeconds = 0;
  double stepSeconds() const {
    return computeSeconds + bubbleSeconds + exposedSeconds;
  }
  /// The rank that holds most, and what it sends in collectives.
  int64_t rankBytes = 0, sentBytes = 0;
};

/// Layouts worth a look: every number of stages that is a power of two, at most
/// eight and no more than there are micro-batches for or pieces; data alone
/// with each sharding, stages with whole states and with the optimizer's in
/// shards, and micro-batches split until there are four times as many as
/// stages.
std::vector<ScaleLayout> findLayouts(const ScaleWork &work);

ScalePrediction predictScale(const ScaleWork &work, const ScaleLayout &layout,
                             const Hardware &hardware);

/// Seconds of the same update, task by task, on processors and links.
double simulateScale(const ScaleWork &work, const ScaleLayout &layout,
                     const Hardware &hardware);

/// Of `bytes` that lie in shards on so many ranks and come together on each, or
/// that are summed into shards; 0 for one rank or without a link.
double gatherSeconds(const Hardware &hardware, int64_t bytes, int64_t ranks);

} // namespace tts::plan

#endif // TTS_TRANSFORMS_PLAN_SCALE_H
