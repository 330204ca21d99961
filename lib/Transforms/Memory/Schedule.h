//===- Schedule.h - the order of a program's entries ----------------------===//

#ifndef TTS_LIB_TRANSFORMS_MEMORY_SCHEDULE_H
#define TTS_LIB_TRANSFORMS_MEMORY_SCHEDULE_H

#include "Storage.h"

namespace tts::memory {

/// Fills `program.entries`: a list schedule over data and overwrite edges.
/// Among ready entries one that frees at least what it allocates goes first
/// (the one that frees most), else the earliest in program order, so that
/// weight gradients run as soon as they let activations die. Fails when readers
/// and overwriters wait for each other.
llvm::LogicalResult schedule(Program &program);

} // namespace tts::memory

#endif // TTS_LIB_TRANSFORMS_MEMORY_SCHEDULE_H
