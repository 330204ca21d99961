//===- Passes.td - tts kernels to loops -----------------------------------===//

#ifndef TTS_CONVERSION_TTSTOKERNELS_PASSES_TD
#define TTS_CONVERSION_TTSTOKERNELS_PASSES_TD

include "mlir/Pass/PassBase.td"

def TtsToKernelsPass : Pass<"tts-to-kernels", "::mlir::ModuleOp"> {
  let summary = "turns each kernel's tts ops into vector loops over a part of its range";
  let description = [{
    Assumes: every `func.func` with the attribute `rt.kernel` has static shapes
    and a body of tts ops and one `return`: either any graph of map ops (one
    element of the result from elements of the operands: pointwise, broadcast,
    full, mask, dropout, cast, loss gradients, optimizer updates, …), or one
    other op (a reduction, a gather, …) whose operands map ops may make.

    Guarantees: the function takes one flat memref per memory operand (its
    arguments in order, then its results in order but for those that `rt.tied`
    ties to an argument) and `%lo, %hi : index`, computes the part [lo, hi) of
    its range and has the attribute `rt.range`. Disjoint parts may run at the
    same time; how the range is cut changes no bit. A reduction runs in 32
    interleaved lanes, then a tree; multiply and add are never fused. A result
    of a map kernel may lie in the storage of an operand of the same type.

    Does not: touch other functions, choose what becomes one kernel (Select),
    or name a machine (Target).
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

def LowerMathPass : Pass<"tts-lower-math"> {
  let summary = "polynomials for the f32 functions of training";
  let description = [{
    Assumes: math ops on scalars or vectors of f32 or f64. Guarantees: exp,
    log, log1p and tanh in f32 are polynomials of the same bits for a scalar and
    for every lane, on every target, within 4 units in the last place. The
    others, and all in f64 but log1p, stay: a target uses the machine's own
    instructions (sqrt, abs) or calls its library lane by lane.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::math::MathDialect", "::mlir::vector::VectorDialect"];
}

#endif // TTS_CONVERSION_TTSTOKERNELS_PASSES_TD
