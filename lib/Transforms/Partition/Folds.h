//===- Folds.h - sums over groups of micro-batches ------------------------===//

#ifndef TTS_LIB_TRANSFORMS_PARTITION_FOLDS_H
#define TTS_LIB_TRANSFORMS_PARTITION_FOLDS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace tts {

/// Adds the programs fold.0, fold.1… that run after each of a rank's groups;
/// none where it has one. Fails for a number of ranks that does not divide the
/// groups.
llvm::LogicalResult addFolds(mlir::ModuleOp module, int64_t ranks);

} // namespace tts

#endif // TTS_LIB_TRANSFORMS_PARTITION_FOLDS_H
