//===- HalfProgram.h - one program in mixed precision -----------*- C++ -*-===//

#ifndef TTS_LIB_TRANSFORMS_PRECISION_HALFPROGRAM_H
#define TTS_LIB_TRANSFORMS_PRECISION_HALFPROGRAM_H

#include "Wishes.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

namespace tts::precision {

/// Gives every op the types that its `PrecisionOpInterface` asks for. A value
/// is cast once, behind its definition, and all its readers share the cast.
class HalfProgram {
public:
  /// `copies` names the parameters of which a half copy exists; it comes as an
  /// argument. Others are cast here.
  HalfProgram(mlir::func::FuncOp program, mlir::FloatType half,
              const llvm::StringSet<> &copies);

  void rewrite(const Wishes &wishes);

  /// The value in the half type.
  mlir::Value toHalf(mlir::Value value);

  /// Drops parameters without a reader and sets the function's type.
  void finish();

  mlir::func::FuncOp getFunction() const { return program; }
  mlir::Operation *getTerminator() const {
    return program.getBody().front().getTerminator();
  }
  /// Names of the parameters that are read in the half type.
  const llvm::SetVector<mlir::StringAttr> &getHalfParameters() const {
    return halfParameters;
  }

private:
  enum class Followed { Full, Half, Weak };

  void rewrite(mlir::Operation *op, const Wishes &wishes);
  Followed getFollowed(mlir::Operation *op) const;
  mlir::Value toFull(mlir::Value value);
  mlir::Value makeHalf(mlir::Value value);
  mlir::Value cast(mlir::Value value, mlir::Type element);
  void setHalf(mlir::Value value);
  mlir::StringAttr getParameterName(mlir::Value value) const;
  bool isWeak(mlir::Value value) const {
    return weak.contains(value) || getParameterName(value);
  }

  mutable mlir::func::FuncOp program; // a handle
  mlir::FloatType half;
  const llvm::StringSet<> &copies;
  llvm::DenseMap<mlir::Value, mlir::Value> halves, fulls;
  /// f32 values made of parameters and constants alone: an op that also reads a
  /// half value computes in half, as with a scalar.
  llvm::DenseSet<mlir::Value> weak;
  llvm::SetVector<mlir::StringAttr> halfParameters;
};

} // namespace tts::precision

#endif // TTS_LIB_TRANSFORMS_PRECISION_HALFPROGRAM_H
