//===- Passes.td - lowering kernels for a CPU -----------------------------===//

#ifndef TTS_TARGET_CPU_PASSES_TD
#define TTS_TARGET_CPU_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerMathPass : Pass<"tts-cpu-lower-math"> {
  let summary = "polynomials for f32 functions, libm calls for f64 ones";
  let description = [{
    Assumes: math ops on scalars or vectors of f32 or f64. Guarantees: f32
    exp, log, log1p, tanh, sin and cos are polynomials of the same bits for a
    scalar and for every lane; in f64 they are calls of libm, lane by lane.
    What the machine does itself (sqrt, abs, fma) stays.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::math::MathDialect", "::mlir::vector::VectorDialect"];
}

def EntryPointsPass : Pass<"tts-cpu-entry-points", "::mlir::ModuleOp"> {
  let summary = "gives each kernel the signature TtsKernel of Abi.h";
  let description = [{
    Assumes: kernels are `llvm.func`s of bare pointers and `lo, hi` with the
    attribute `rt.kernel`. Guarantees: `@name(operands, lo, hi)` loads the
    pointers and calls `@name.body`, which is private and inlined into it. The
    pointers are not said to be distinct: operands may share storage.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // TTS_TARGET_CPU_PASSES_TD
