//===- Stages.h - do a pipeline's tables belong together? -----------------===//

#ifndef TTS_RUNTIME_TRAIN_STAGES_H
#define TTS_RUNTIME_TRAIN_STAGES_H

#include "Runtime/Abi/Manifest.h"
#include "Runtime/Collectives/World.h"

namespace tts::rt {

/// Throws Exit::Refused on every stage of a replica unless all are of one
/// model, cut an update into the same micro-batches and hold no more of them
/// than the stage before. Nothing is done for one stage.
void checkStages(const Manifest &manifest, World &world);

} // namespace tts::rt

#endif // TTS_RUNTIME_TRAIN_STAGES_H
