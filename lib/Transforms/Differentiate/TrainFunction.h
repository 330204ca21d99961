//===- TrainFunction.h - @train with the roles of its values -------------===//

#ifndef TTS_LIB_TRANSFORMS_DIFFERENTIATE_TRAINFUNCTION_H
#define TTS_LIB_TRANSFORMS_DIFFERENTIATE_TRAINFUNCTION_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace tts {

/// A result of @train: the value, its name and its attributes.
struct NamedResult {
  llvm::StringRef name;
  mlir::Value value;
  mlir::DictionaryAttr attributes;
};

/// A parameter that an op of @train advances, and its next value (after
/// expandStates).
struct State {
  mlir::BlockArgument parameter;
  mlir::Value next;
};

/// The training function of a module, read once.
struct TrainFunction {
  mlir::func::FuncOp func;
  /// Parameters that are neither frozen nor states, in the order of arguments.
  llvm::SmallVector<mlir::BlockArgument> trainable;
  llvm::SmallVector<State> states;
  llvm::SmallVector<NamedResult> losses, denominators, outputs;

  /// Finds and checks it; says on the module or function what is wrong.
  static llvm::FailureOr<TrainFunction> read(mlir::ModuleOp module);

  mlir::Block &getBody() { return func.getBody().front(); }
  mlir::DictionaryAttr getAttributes(mlir::BlockArgument argument);
  /// What `tts.param` says, or "".
  llvm::StringRef getParameterName(mlir::BlockArgument argument);
};

} // namespace tts

#endif // TTS_LIB_TRANSFORMS_DIFFERENTIATE_TRAINFUNCTION_H
