//===- ProgramBuilder.h - a function made argument by argument -----------===//

#ifndef TTS_LIB_TRANSFORMS_DIFFERENTIATE_PROGRAMBUILDER_H
#define TTS_LIB_TRANSFORMS_DIFFERENTIATE_PROGRAMBUILDER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace tts {

/// A program under construction: arguments and results come with their
/// attributes, the type follows from them. Erased again unless finished.
class ProgramBuilder {
public:
  /// @name with tts.program = "name", before `before`.
  ProgramBuilder(mlir::Operation *before, llvm::StringRef name);
  ~ProgramBuilder();
  ProgramBuilder(const ProgramBuilder &) = delete;

  mlir::OpBuilder &getBuilder() { return builder; }
  mlir::Block &getBody() { return func.getBody().front(); }

  mlir::Value addArgument(mlir::Type type, mlir::DictionaryAttr attributes,
                          mlir::Location loc);
  mlir::Value insertArgument(unsigned index, mlir::Type type,
                             mlir::DictionaryAttr attributes,
                             mlir::Location loc);
  /// With one attribute, `role` = "name".
  mlir::Value addArgument(mlir::Type type, llvm::StringRef role,
                          llvm::StringRef name, mlir::Location loc);
  void addResult(mlir::Value value, mlir::DictionaryAttr attributes);
  void addResult(mlir::Value value, llvm::StringRef role, llvm::StringRef name);

  /// {role = "name"}.
  mlir::DictionaryAttr makeRole(llvm::StringRef role, llvm::StringRef name);

  /// Adds the return; arguments may still be inserted.
  void addReturn();
  /// Adds the return if it is missing, and sets type and attributes.
  mlir::func::FuncOp finish();

private:
  mlir::func::FuncOp func;
  mlir::OpBuilder builder;
  bool finished = false;
  llvm::SmallVector<mlir::DictionaryAttr> argumentAttributes, resultAttributes;
  llvm::SmallVector<mlir::Value> results;
};

/// Drops ops without a reader, then arguments without one.
void dropUnused(mlir::func::FuncOp func);
/// Drops ops without a reader.
void dropDeadOps(mlir::Block &body);

} // namespace tts

#endif // TTS_LIB_TRANSFORMS_DIFFERENTIATE_PROGRAMBUILDER_H
