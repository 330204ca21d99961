//===- ZeroPadding.h - which values are zero in the padding --------------===//

#ifndef TTS_LIB_TRANSFORMS_DIFFERENTIATE_ZEROPADDING_H
#define TTS_LIB_TRANSFORMS_DIFFERENTIATE_ZEROPADDING_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace tts {

/// Knows of a function's values whether they are exactly zero at padded time
/// steps. A "no" means "not proven".
class ZeroPadding {
public:
  explicit ZeroPadding(mlir::func::FuncOp func);

  bool isZero(mlir::Value value);
  /// The lengths that belong to a time dimension's name, an argument or an op's
  /// result, or null.
  mlir::Value getLengths(llvm::StringRef time) const {
    return lengths.lookup(time);
  }
  /// The name of dimension 1, or "" where it has none.
  static llvm::StringRef getTimeName(mlir::Value value);
  /// The only operand with time of an op that keeps zeros and the shape, or
  /// null: a mask may as well stand before such an op.
  static mlir::Value getKeptOperand(mlir::Operation *op);

private:
  bool compute(mlir::Value value);

  mlir::func::FuncOp func;
  llvm::StringMap<mlir::Value> lengths;
  llvm::DenseMap<mlir::Value, bool> known;
};

} // namespace tts

#endif // TTS_LIB_TRANSFORMS_DIFFERENTIATE_ZEROPADDING_H
