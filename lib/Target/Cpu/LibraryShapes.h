//===- LibraryShapes.h - what to ask the library for an op ----------------===//

#ifndef TTS_LIB_TARGET_CPU_LIBRARYSHAPES_H
#define TTS_LIB_TARGET_CPU_LIBRARYSHAPES_H

#include "Runtime/Device/Cpu/ConvScratch.h"
#include "Runtime/Device/Cpu/GemmScratch.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

namespace tts::cpu {

/// A convolution of x by w to y, both [batch, time, channel].
inline rt::Conv1dShape getConv1dShape(mlir::Value x, mlir::Value y,
                                      mlir::Value w, int64_t left,
                                      bool transpose) {
  auto source = mlir::cast<mlir::RankedTensorType>(x.getType());
  rt::Conv1dShape shape;
  shape.batch = source.getDimSize(0);
  shape.time = source.getDimSize(1);
  shape.in = source.getDimSize(2);
  shape.out = mlir::cast<mlir::RankedTensorType>(y.getType()).getDimSize(2);
  shape.taps = mlir::cast<mlir::RankedTensorType>(w.getType()).getDimSize(0);
  shape.left = left;
  shape.transpose = transpose;
  return shape;
}

/// The product of all rows of x by one matrix to those of y.
inline rt::GemmShape getRowsShape(mlir::Value x, mlir::Value y,
                                  bool transposeB) {
  auto from = mlir::cast<mlir::RankedTensorType>(x.getType());
  auto to = mlir::cast<mlir::RankedTensorType>(y.getType());
  rt::GemmShape shape;
  shape.k = from.getShape().back();
  shape.n = to.getShape().back();
  shape.m = to.getNumElements() / shape.n;
  shape.transposeB = transposeB;
  shape.lda = shape.k;
  shape.ldb = transposeB ? shape.k : shape.n;
  shape.ldc = shape.n;
  return shape;
}

} // namespace tts::cpu

#endif // TTS_LIB_TARGET_CPU_LIBRARYSHAPES_H
