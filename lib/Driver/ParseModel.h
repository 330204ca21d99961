//===- ParseModel.h - a model file as IR that knows where it was written -===//
//
// MLIR's parser gives an op with a `loc("name")` of its own no position in the
// file. Errors and the runtime want both: which op, and on which line.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_LIB_DRIVER_PARSEMODEL_H
#define TTS_LIB_DRIVER_PARSEMODEL_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace llvm {
class SourceMgr;
} // namespace llvm

namespace tts {

/// The module of a file; null after a diagnostic. An op whose location is a
/// name only gets file, line and column inside that name.
mlir::OwningOpRef<mlir::ModuleOp> parseModel(const llvm::SourceMgr &sources,
                                             mlir::MLIRContext &context);

} // namespace tts

#endif // TTS_LIB_DRIVER_PARSEMODEL_H
