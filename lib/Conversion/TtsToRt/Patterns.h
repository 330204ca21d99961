//===- Patterns.h - contractions as matrix products, by family -----------===//

#ifndef TTS_LIB_CONVERSION_TTSTORT_PATTERNS_H
#define TTS_LIB_CONVERSION_TTSTORT_PATTERNS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"
#include "tts/Dialect/Rt/IR/RtDialect.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"

namespace tts {

/// The sizes of one (batched) product; zero leading dimensions mean dense.
struct Product {
  int64_t m, n, k;
  bool transposeA = false, transposeB = false;
  int64_t beta = 0;
  int64_t lda = 0, ldb = 0, ldc = 0;
  int64_t batch = 1, strideA = 0, strideB = 0, strideC = 0;
  int64_t offsetA = 0, offsetB = 0, offsetC = 0;
  mlir::Value bias = {}; ///< none, or a row of n
};

/// c (+)= a·b; returns c's new value.
mlir::Value emitProduct(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value a, mlir::Value b, mlir::Value c,
                        Product product);

/// Storage for a result of `type`.
mlir::Value emitEmpty(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Type type);

/// What a sum of products of numbers of `type` is kept in while parts are
/// added: f32 for a half type.
mlir::RankedTensorType getSumType(mlir::RankedTensorType type);

/// `value` as `type`, cast if its element type is another.
mlir::Value roundTo(mlir::OpBuilder &builder, mlir::Location loc,
                    mlir::Value value, mlir::RankedTensorType type);

/// The op's product onto `c`, or into storage of its own; `bias` may be null.
mlir::Value emitLinear(mlir::OpBuilder &builder, LinearOp op, mlir::Value c,
                       mlir::Value bias);
/// Likewise of a convolution by the library or of one tap.
mlir::Value emitConv1d(mlir::OpBuilder &builder, Conv1dOp op, mlir::Value c,
                       mlir::Value bias);

/// Products whose sums the target lets them do.
void lowerEpilogues(mlir::func::FuncOp program);

void populateLinearPatterns(mlir::RewritePatternSet &patterns);
void populateConvolutionPatterns(mlir::RewritePatternSet &patterns);
void populateGroupedConvolutionPatterns(mlir::RewritePatternSet &patterns);
void populateAttentionPatterns(mlir::RewritePatternSet &patterns);
void populateCrossEntropyPatterns(mlir::RewritePatternSet &patterns);
void populateRotaryPatterns(mlir::RewritePatternSet &patterns);
void populateCollectivePatterns(mlir::RewritePatternSet &patterns);

} // namespace tts

#endif // TTS_LIB_CONVERSION_TTSTORT_PATTERNS_H
