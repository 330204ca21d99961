//===- Passes.td - lowering kernels for a CPU -----------------------------===//

#ifndef TTS_TARGET_CPU_PASSES_TD
#define TTS_TARGET_CPU_PASSES_TD

include "mlir/Pass/PassBase.td"

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

def GemmScratchPass : Pass<"tts-cpu-gemm-scratch", "::mlir::ModuleOp"> {
  let summary = "writes on each f32 rt.gemm the scratch bytes that oneDNN asks for";
  let description = [{
    Assumes: programs of rt ops on tensors, `tts.plan` for the number of
    threads. Guarantees: `rt.scratch` on every f32 product, -1 where
    oneDNN has only implementations that allocate in every call (one column, for
    example). Scratch depends on
    oneDNN's version, the instruction set and the threads: the runtime asks
    again at start and refuses a larger answer.
  }];
}

def GemmKernelsPass : Pass<"tts-cpu-gemm-kernels", "::mlir::ModuleOp"> {
  let summary = "generates a kernel for each matrix product that oneDNN cannot serve";
  let description = [{
    Assumes: `rt.entry`s (after tts-memory). Guarantees: no `rt.gemm` in f64,
    which oneDNN lacks, and none in f32 without a tame implementation; entries of one shape share a kernel.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"];
}

#endif // TTS_TARGET_CPU_PASSES_TD
