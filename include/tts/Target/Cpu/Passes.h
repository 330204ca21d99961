//===- Passes.h - lowering kernels for a CPU ----------------*- C++ -*-===//

#ifndef TTS_TARGET_CPU_PASSES_H
#define TTS_TARGET_CPU_PASSES_H

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace tts::rt {
class EntryOp;
} // namespace tts::rt

namespace tts::cpu {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tts/Target/Cpu/Passes.h.inc"

/// From the kernels that `tts-to-kernels` makes to the LLVM dialect, each with
/// an entry point of the ABI. Every other function of the module is lowered on
/// the way; ops of other dialects at its top level are left alone.
void buildKernelsToLLVMPipeline(mlir::OpPassManager &pm);

/// Whether `tts-cpu-gemm-kernels` makes a kernel of an entry `rt.gemm`: its
/// type is f64, or the library has nothing for it that allocates nothing.
bool isGeneratedGemm(rt::EntryOp entry);

/// Registers `tts-cpu-kernels-to-llvm`.
void registerTtsTargetCpuPipelines();

} // namespace tts::cpu

#endif // TTS_TARGET_CPU_PASSES_H
