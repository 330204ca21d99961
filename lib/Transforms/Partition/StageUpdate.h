//===- StageUpdate.h - the optimizer of one stage -------------------------===//

#ifndef TTS_LIB_TRANSFORMS_PARTITION_STAGEUPDATE_H
#define TTS_LIB_TRANSFORMS_PARTITION_STAGEUPDATE_H

#include "StageAssignment.h"

namespace tts::partition {

/// Leaves the parameters that the stage owns, their gradients summed over the
/// replicas. Of a parameter that several stages read, the others send their
/// gradients to the owner and receive the new value. The norm is that of all
/// stages. Channels from `channel` on are free.
void cutUpdate(mlir::func::FuncOp update, const StageAssignment &stages,
               int stage, int64_t replicas, int64_t channel);

} // namespace tts::partition

#endif // TTS_LIB_TRANSFORMS_PARTITION_STAGEUPDATE_H
