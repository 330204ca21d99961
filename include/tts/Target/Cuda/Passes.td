//===- Passes.td - lowering kernels for NVIDIA GPUs -----------------------===//

#ifndef TTS_TARGET_CUDA_PASSES_TD
#define TTS_TARGET_CUDA_PASSES_TD

include "mlir/Pass/PassBase.td"

def KernelsToGpuPass : Pass<"tts-kernels-to-gpu", "::mlir::ModuleOp"> {
  let summary = "turns each kernel into a gpu.func whose warps compute one number of the range at a time";
  let description = [{
    Assumes: kernels as `tts-to-kernels` makes them: `func.func`s with the
    attributes `rt.kernel` and `rt.range` over flat memrefs and `lo, hi`, of
    scf, arith, math and memref, and of vectors of at most 32 lanes.

    Guarantees: the `gpu.func`s stand in one `gpu.module @kernels`: `@name` as
    `@tts_name`, with the same operands and `rt.range`. The `func.func`s are
    gone. A warp computes
    the numbers `lo + w`, `lo + w + warps`, … below `hi`, so every grid is
    right, and `w` is the warp's number in it. Each vector is one scalar a lane,
    each scalar is the same in all lanes. Halves of a vector meet through
    `gpu.shuffle down`, in the order in which the kernel combines them: sums have the
    bits of the CPU. A warp's stores and loads see each other in the order of
    the kernel, as the vector instructions of one thread would
    (`nvvm.bar.warp.sync` between them).

    Does not: touch other functions or the programs that name the kernels; use
    shared memory; split one number of the range between warps.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
    "::mlir::memref::MemRefDialect", "::mlir::NVVM::NVVMDialect",
    "::mlir::scf::SCFDialect"];
}

def RoundedMathPass : Pass<"tts-cuda-rounded-math"> {
  let summary = "functions that PTX rounds correctly become LLVM intrinsics";
  let description = [{
    Assumes: math ops on scalars. Guarantees: no sqrt, absf, fma, floor, ceil,
    trunc, roundeven or copysign of math: libdevice's versions of them depend on
    switches (`__nv_sqrtf` may be the machine's estimate), the intrinsics become
    `sqrt.rn`, `fma.rn` and so on. The other functions stay for libdevice.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def CollectivesToNcclPass : Pass<"tts-cuda-collectives-to-nccl", "::mlir::ModuleOp"> {
  let summary = "a function that calls NCCL for each rt.all_reduce of the step table";
  let description = [{
    Assumes: programs as `tts-memory` leaves them.

    Guarantees: `module @collectives` with one function of the LLVM dialect for each
    entry, `tts_all_reduce_<program>_<entry>(arena, communicator, stream)`. It
    sums every array of the entry in its place in the arena (`ncclAllReduce`), all in
    one group, and returns the first `ncclResult_t` that is not `ncclSuccess`. Like every
    call of NCCL it returns when the work is in the stream.

    Does not: change the entries, of which the runtime looks up the function; use
    their room for messages, since NCCL has its own.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // TTS_TARGET_CUDA_PASSES_TD
