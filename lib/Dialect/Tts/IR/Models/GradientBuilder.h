//===- GradientBuilder.h - short words for derivative rules --------------===//
// What the derivative rules say instead of OpBuilder calls, so that they read
// as a table.

#ifndef TTS_DIALECT_TTS_IR_MODELS_GRADIENTBUILDER_H
#define TTS_DIALECT_TTS_IR_MODELS_GRADIENTBUILDER_H

#include "mlir/IR/Builders.h"
#include "tts/Dialect/Tts/IR/Names.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"

namespace tts {

/// Builds the gradient ops of one op; all carry the name "<op's name>.grad".
class GradientBuilder {
public:
  GradientBuilder(mlir::OpBuilder &builder, mlir::Operation *op)
      : builder(builder),
        loc(mlir::NameLoc::get(
            builder.getStringAttr(getStableName(op->getLoc()) + ".grad"),
            op->getLoc())) {}

  /// One op with one result, of the same type as `like`.
  template <typename OpTy, typename... Args>
  mlir::Value make(mlir::Value like, Args &&...args) {
    return OpTy::create(builder, loc, like.getType(),
                        std::forward<Args>(args)...);
  }
  /// One op with several results.
  template <typename OpTy, typename... Args> OpTy makeOp(Args &&...args) {
    return OpTy::create(builder, loc, std::forward<Args>(args)...);
  }

  mlir::Value add(mlir::Value x, mlir::Value y) { return make<AddOp>(x, x, y); }
  mlir::Value sub(mlir::Value x, mlir::Value y) { return make<SubOp>(x, x, y); }
  mlir::Value mul(mlir::Value x, mlir::Value y) { return make<MulOp>(x, x, y); }
  mlir::Value div(mlir::Value x, mlir::Value y) { return make<DivOp>(x, x, y); }
  mlir::Value neg(mlir::Value x) { return make<NegOp>(x, x); }
  /// A constant shaped like `like`.
  mlir::Value full(double value, mlir::Value like) {
    return make<FullOp>(like, builder.getF64FloatAttr(value));
  }
  mlir::Value scale(double factor, mlir::Value x) {
    return mul(x, full(factor, x));
  }

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
};

} // namespace tts

#endif // TTS_DIALECT_TTS_IR_MODELS_GRADIENTBUILDER_H
