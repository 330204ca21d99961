//===- ManyTensors.h - many tensors that undergo the same --------*- C++
//-*-===//

#ifndef TTS_LIB_ANALYSIS_MANYTENSORS_H
#define TTS_LIB_ANALYSIS_MANYTENSORS_H

#include "GroupGraph.h"
#include "tts/Analysis/FusionGroups.h"

namespace tts {

/// Joins groups of ops that are done alike to many tensors, where they read the
/// same small operands and are independent of each other.
void joinManyTensors(llvm::SmallVectorImpl<FusionGroup> &groups,
                     GroupGraph &graph);

} // namespace tts

#endif // TTS_LIB_ANALYSIS_MANYTENSORS_H
