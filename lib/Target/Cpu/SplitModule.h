//===- SplitModule.h - parts of a module to compile side by side -*- C++
//-*-===//

#ifndef TTS_LIB_TARGET_CPU_SPLITMODULE_H
#define TTS_LIB_TARGET_CPU_SPLITMODULE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <vector>

namespace tts::cpu {

/// Parts of about equal work, each complete with declarations; functions stay
/// with what they refer to. The cut depends on the module alone, not on how
/// many threads will compile it.
std::vector<mlir::OwningOpRef<mlir::ModuleOp>>
splitModule(mlir::OwningOpRef<mlir::ModuleOp> module);

} // namespace tts::cpu

#endif // TTS_LIB_TARGET_CPU_SPLITMODULE_H
