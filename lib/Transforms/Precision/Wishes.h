//===- Wishes.h - values that every reader wants in f32 ---------*- C++ -*-===//

#ifndef TTS_LIB_TRANSFORMS_PRECISION_WISHES_H
#define TTS_LIB_TRANSFORMS_PRECISION_WISHES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

namespace tts::precision {

/// Of one program: a product whose readers are all f32, such as the one before
/// a loss, need not be rounded to the half type.
class Wishes {
public:
  /// Whether what a program returns is wanted in f32.
  using OfResult = llvm::function_ref<bool(unsigned result)>;

  Wishes(mlir::func::FuncOp program, OfResult ofResult);

  bool wantsFull(mlir::Value value) const { return full.contains(value); }

private:
  bool allReadersWant(mlir::Value value, OfResult ofResult) const;
  bool wants(mlir::OpOperand &use, OfResult ofResult) const;

  llvm::DenseSet<mlir::Value> full;
};

} // namespace tts::precision

#endif // TTS_LIB_TRANSFORMS_PRECISION_WISHES_H
