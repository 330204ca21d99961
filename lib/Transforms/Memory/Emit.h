//===- Emit.h - programs of entries on offsets, and the manifest ----------===//

#ifndef TTS_LIB_TRANSFORMS_MEMORY_EMIT_H
#define TTS_LIB_TRANSFORMS_MEMORY_EMIT_H

#include "Layout.h"

namespace tts::memory {

/// Replaces the programs' functions by `rt.program`s and sets the module's
/// buffers and byte counts.
void emitPrograms(mlir::ModuleOp module,
                  llvm::MutableArrayRef<Program> programs, StorageTable &table,
                  const Layout &layout);

/// The manifest of the laid out module (docs/step-table.md): states, inputs per
/// bucket, scalars, losses, outputs. Before emitPrograms, which erases what it
/// reads.
mlir::DictionaryAttr buildManifest(mlir::ModuleOp module,
                                   llvm::MutableArrayRef<Program> programs,
                                   StorageTable &table);

} // namespace tts::memory

#endif // TTS_LIB_TRANSFORMS_MEMORY_EMIT_H
