//===- Layout.h - live ranges and offsets ---------------------------------===//

#ifndef TTS_LIB_TRANSFORMS_MEMORY_LAYOUT_H
#define TTS_LIB_TRANSFORMS_MEMORY_LAYOUT_H

#include "Storage.h"

namespace tts::memory {

struct Layout {
  int64_t persistentBytes = 0;
  int64_t arenaBytes = 0;
  /// From what a slot keeps between forward and backward to the next slot's.
  int64_t slotBytes = 0;
};

/// Live ranges on the timelines of scheduled programs ([forward, backward] of a
/// bucket, each other program alone), storages taken over in place, offsets:
/// persistent storages from 0 by class, each timeline packed above them. Where
/// several micro-batches are under way at a time, what forward keeps for
/// backward lies between, once per slot.
Layout layOut(mlir::MLIRContext *context,
              llvm::MutableArrayRef<Program> programs, StorageTable &table);

} // namespace tts::memory

#endif // TTS_LIB_TRANSFORMS_MEMORY_LAYOUT_H
