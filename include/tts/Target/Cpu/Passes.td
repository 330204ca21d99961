//===- Passes.td - lowering kernels for a CPU -----------------------------===//

#ifndef TTS_TARGET_CPU_PASSES_TD
#define TTS_TARGET_CPU_PASSES_TD

include "mlir/Pass/PassBase.td"

def ShareKernelsPass : Pass<"tts-cpu-share-kernels", "::mlir::ModuleOp"> {
  let summary = "one body for kernels that differ in their numbers only";
  let description = [{
    Assumes: kernels as tts-to-kernels leaves them, one-dimensional memory and
    `lo, hi`. Guarantees: kernels with the same ops in the same order are one
    function, the first of them; constants in which they differ (sizes, keys of
    random streams, factors) are read at its start from a table of i64, a new
    argument before `lo, hi`. `rt.instances` on it lists each kernel's name,
    range and numbers. No bit of a result changes: the same operations run on
    the same numbers. What a constant decides about the code itself (a mask of
    lanes, a left-out loop) is not a number, such kernels stay apart.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect",
    "::mlir::vector::VectorDialect"];
  let statistics = [
    Statistic<"numShared", "shared", "kernels that use another one's code">];
}

def EntryPointsPass : Pass<"tts-cpu-entry-points", "::mlir::ModuleOp"> {
  let summary = "gives each kernel the signature TtsKernel of Abi.h";
  let description = [{
    Assumes: kernels are `llvm.func`s of bare pointers and `lo, hi` with the
    attribute `rt.kernel`. Guarantees: `@name(operands, lo, hi)` loads the
    pointers and calls `@name.body`, which is private and inlined into it. The
    pointers are not said to be distinct: operands may share storage. For each
    of a kernel's `rt.instances` there is an `@instance(operands, lo, hi)` that
    calls `@name.shared` with `@instance.numbers`, its table.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def Conv1dChoicePass : Pass<"tts-cpu-choose-conv1d", "::mlir::ModuleOp"> {
  let summary = "chooses the library's convolution where it was measured faster than products";
  let description = [{
    Assumes: static shapes, `tts.plan` for the number of threads, and
    `tts.conv1d_times` on the module (see `conv1d` of a hardware description):
    the nearest shape that was measured decides, in doublings of rows,
    channels and taps; without measurements every convolution becomes products.
    Guarantees: `rt.scratch` on each f32 `tts.conv1d` and `tts.conv1d_input_grad` that
    select is to leave to the library: the bytes that oneDNN asks for.
  }];
}

def EpilogueChoicePass : Pass<"tts-cpu-choose-epilogues", "::mlir::ModuleOp"> {
  let summary = "chooses the bias and residual sums that a product's own call does";
  let description = [{
    Assumes: static shapes, `tts-cpu-choose-conv1d` has run, `tts.plan` for the number
    of threads. Guarantees: `rt.epilogue` on the last sum behind a product (an f32
    linear layer, a convolution by the library or of one tap) where oneDNN has an
    implementation that keeps to its scratch: the bias, in front of whatever kernel,
    so that a product is one primitive wherever it runs; then the residual, where
    the sums are a whole fusion group, so that no kernel is left, and where it, whose bytes the
    result takes, is an op's result that nobody reads afterwards; `rt.scratch` of
    such a library convolution is what it wants with them. Nothing with `tts.unfused` on the
    module. No bit changes: the library adds to the finished sum and rounds.
  }];
  let statistics = [
    Statistic<"numChosen", "chosen", "products that do their sums">];
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
