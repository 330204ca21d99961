//===- Program.h - finding programs and their values by role -------------===//

#ifndef TTS_LIB_TRANSFORMS_VERIFY_PROGRAM_H
#define TTS_LIB_TRANSFORMS_VERIFY_PROGRAM_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"

namespace tts {

/// Arguments or returned values of one role, by name.
using NamedValues = llvm::MapVector<llvm::StringRef, mlir::Value>;

/// Functions with a `tts.program` and one block.
llvm::SmallVector<mlir::func::FuncOp> getPrograms(mlir::ModuleOp module);
/// What `tts.program` says, or "".
llvm::StringRef getProgramName(mlir::func::FuncOp func);
/// The first program of that name, or null.
mlir::func::FuncOp findProgram(mlir::ModuleOp module, llvm::StringRef name);

/// Empty for a null function.
NamedValues getArguments(mlir::func::FuncOp func, llvm::StringRef role);
NamedValues getResults(mlir::func::FuncOp func, llvm::StringRef role);

} // namespace tts

#endif // TTS_LIB_TRANSFORMS_VERIFY_PROGRAM_H
