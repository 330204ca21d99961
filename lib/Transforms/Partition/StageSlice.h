//===- StageSlice.h - a stage's part of a program, made on demand ---------===//

#ifndef TTS_LIB_TRANSFORMS_PARTITION_STAGESLICE_H
#define TTS_LIB_TRANSFORMS_PARTITION_STAGESLICE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"

namespace tts::partition {

/// Builds a program beside the one that it is a part of: whatever is asked for
/// is copied with all it needs, in the order of asking, except where `import`
/// says what stands for a value.
class StageSlice {
public:
  explicit StageSlice(mlir::func::FuncOp whole);

  /// Null: the value is to be copied.
  std::function<mlir::Value(mlir::Value)> import = [](mlir::Value) {
    return mlir::Value();
  };

  mlir::Value get(mlir::Value value);
  /// Copies an op, whose operands are got.
  mlir::Operation *copy(mlir::Operation *op);
  bool has(mlir::Value value) const { return map.contains(value); }
  void set(mlir::Value value, mlir::Value standsFor) {
    map.map(value, standsFor);
  }
  mlir::Value addArgument(mlir::Type type, mlir::DictionaryAttr attributes,
                          mlir::Location loc);
  void addResult(mlir::Value value, mlir::DictionaryAttr attributes);
  mlir::Value receive(mlir::Type type, int stage, int64_t channel,
                      mlir::Location loc);
  void send(mlir::Value value, int stage, int64_t channel);
  /// Puts it in the place of the whole; nothing is left where it is empty.
  void finish();

  mlir::OpBuilder &getBuilder() { return builder; }
  mlir::func::FuncOp getWhole() { return whole; }
  /// What was received last, or null.
  mlir::Value getLastReceived() const { return lastReceived; }

private:
  mlir::func::FuncOp whole, part;
  mlir::OpBuilder builder;
  mlir::IRMapping map;
  llvm::SmallVector<mlir::Attribute> argumentRoles, resultRoles;
  llvm::SmallVector<mlir::Value> results;
  mlir::Value lastReceived;
};

} // namespace tts::partition

#endif // TTS_LIB_TRANSFORMS_PARTITION_STAGESLICE_H
