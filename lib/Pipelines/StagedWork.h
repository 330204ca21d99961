//===- StagedWork.h - what an update takes in stages ----------------------===//

#ifndef TTS_LIB_PIPELINES_STAGEDWORK_H
#define TTS_LIB_PIPELINES_STAGEDWORK_H

#include "tts/Pipelines/Planning.h"
#include "tts/Transforms/Plan/Pipeline.h"

namespace tts {

/// Of the stage that needs most, in seconds of a whole update.
struct StagedWork {
  /// `counts`: how many micro-batches of each bucket an update has. Without a
  /// link messages take no time.
  StagedWork(llvm::ArrayRef<PlanRole> stages, llvm::ArrayRef<double> counts,
             const plan::Link *link);

  double pipelineSeconds() const;
  double sendSeconds(int64_t bytes) const;

  double busySeconds = 0, updateSeconds = 0, denominatorSeconds = 0;
  int64_t gradientBytes = 0;
  /// In one run of a program.
  int64_t mostSent = 0;

private:
  void add(const PlanRole &stage, llvm::ArrayRef<double> counts);

  const plan::Link *link;
  double count = 0; ///< of micro-batches
  std::vector<plan::StageTimes> times;
};

} // namespace tts

#endif // TTS_LIB_PIPELINES_STAGEDWORK_H
