//===- ShapeChecks.h - comparing sizes and names of dimensions -----------===//

#ifndef TTS_LIB_DIALECT_TTS_IR_SHAPECHECKS_H
#define TTS_LIB_DIALECT_TTS_IR_SHAPECHECKS_H

#include "tts/Dialect/Tts/IR/TtsDialect.h"

namespace tts {

/// A dimension as written: its size, or its name when the size is unknown.
struct Dim {
  int64_t size;
  llvm::StringRef name;
  bool operator==(const Dim &other) const {
    return size == other.size && name == other.name;
  }
};

Dim getDim(mlir::Value value, unsigned index);
mlir::InFlightDiagnostic &operator<<(mlir::InFlightDiagnostic &diagnostic,
                                     Dim dim);

inline mlir::RankedTensorType getTensor(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType());
}

/// "dimension 1 of 'x' is frames, dimension 0 of 'y' is text" unless equal.
mlir::LogicalResult verifySameDim(mlir::Operation *op, llvm::StringRef nameA,
                                  mlir::Value a, unsigned dimA,
                                  llvm::StringRef nameB, mlir::Value b,
                                  unsigned dimB);

/// 'name' has one of the ranks [lowest, highest].
mlir::LogicalResult verifyRank(mlir::Operation *op, llvm::StringRef name,
                               mlir::Value value, int64_t lowest,
                               int64_t highest);

/// 'a' and 'b' have the same element type.
mlir::LogicalResult verifySameElement(mlir::Operation *op,
                                      llvm::StringRef nameA, mlir::Value a,
                                      llvm::StringRef nameB, mlir::Value b);

/// 'b' has the element type of 'a', or f32 where that is a half type.
mlir::LogicalResult verifyWideElement(mlir::Operation *op,
                                      llvm::StringRef nameA, mlir::Value a,
                                      llvm::StringRef nameB, mlir::Value b);

/// `value` is [batch, time] or [batch, time, channel] and `lengths` its
/// [batch].
mlir::LogicalResult verifyTimed(mlir::Operation *op, llvm::StringRef name,
                                mlir::Value value, llvm::StringRef lengthsName,
                                mlir::Value lengths);

} // namespace tts

#endif // TTS_LIB_DIALECT_TTS_IR_SHAPECHECKS_H
