//===- Gemm.h - generated matrix products -------------------*- C++ -*-===//

#ifndef TTS_CONVERSION_TTSTOKERNELS_GEMM_H
#define TTS_CONVERSION_TTSTOKERNELS_GEMM_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "tts/Dialect/Rt/IR/RtDialect.h"

namespace tts {

/// Adds a kernel `name` to `module` that does what `rt.gemm` does, for element
/// types no library serves: A and B of one type, C of it or f32. It has the
/// form that `tts-to-kernels` leaves behind: flat memrefs A, B, C, then `%lo,
/// %hi`; its range is the M rows, the products of a batch run in order. C must
/// not overlap A or B.
mlir::func::FuncOp emitGemmKernel(mlir::ModuleOp module, llvm::StringRef name,
                                  rt::GemmAttr shape, mlir::Type elementType,
                                  mlir::Type elementTypeOfC);

} // namespace tts

#endif // TTS_CONVERSION_TTSTOKERNELS_GEMM_H
