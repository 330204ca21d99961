//===- Object.h - LLVM dialect to an object file ------------*- C++ -*-===//

#ifndef TTS_TARGET_CPU_OBJECT_H
#define TTS_TARGET_CPU_OBJECT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Support/Timing.h"
#include "llvm/Support/raw_ostream.h"
#include <string>
#include <vector>

namespace tts::cpu {

struct ObjectOptions {
  /// "native" is this machine with all its features; else a CPU's LLVM name
  /// ("x86-64-v3").
  std::string march = "native";
  /// 0 to 3, as in -O; 0 optimizes nothing.
  unsigned optLevel = 3;
  /// Where translation, passes and code generation get timers; or null.
  mlir::TimingScope *timing = nullptr;
};

/// What translating a module needs; call before its context is made.
void registerTranslations(mlir::DialectRegistry &registry);

/// Compiles a module of LLVM-dialect functions and globals (nothing else) to
/// one position-independent object. Multiply-adds are never fused and no
/// fast-math is assumed, whatever the CPU. Says what is wrong through the
/// module's diagnostics.
llvm::LogicalResult emitObject(mlir::ModuleOp module,
                               llvm::raw_pwrite_stream &out,
                               const ObjectOptions &options = {});

using ObjectBytes = llvm::SmallVector<char, 0>;

/// The same as several objects, compiled side by side on the context's threads.
/// How many there are and what is in them does not depend on the threads. Takes
/// the module apart.
llvm::FailureOr<std::vector<ObjectBytes>>
emitObjects(mlir::OwningOpRef<mlir::ModuleOp> module,
            const ObjectOptions &options = {});

} // namespace tts::cpu

#endif // TTS_TARGET_CPU_OBJECT_H
