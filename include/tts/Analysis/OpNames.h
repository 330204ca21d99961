//===- OpNames.h - a name for every op of a program ----------------------===//

#ifndef TTS_ANALYSIS_OPNAMES_H
#define TTS_ANALYSIS_OPNAMES_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace tts {

/// The ops of a program by names that survive printing: an op's stable name,
/// and from the second op of that name on, in the block's order, its number
/// behind a dot ("encoder.0.ffn.relu", "encoder.0.ffn.relu.1").
class OpNames {
public:
  explicit OpNames(mlir::Block &block);

  /// Of an op of the block.
  llvm::StringRef getName(mlir::Operation *op) const { return names.at(op); }
  /// Null for a name that no op has.
  mlir::Operation *lookup(llvm::StringRef name) const {
    return ops.lookup(name);
  }

private:
  llvm::StringMap<mlir::Operation *> ops;
  llvm::DenseMap<mlir::Operation *, llvm::StringRef> names;
};

} // namespace tts

#endif // TTS_ANALYSIS_OPNAMES_H
