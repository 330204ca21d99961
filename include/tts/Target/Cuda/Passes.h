//===- Passes.h - lowering kernels for NVIDIA GPUs --------------*- C++ -*-===//

#ifndef TTS_TARGET_CUDA_PASSES_H
#define TTS_TARGET_CUDA_PASSES_H

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace tts::cuda {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tts/Target/Cuda/Passes.h.inc"

/// Lanes of a warp, warps of a block.
inline constexpr int64_t kWarpLanes = 32, kBlockWarps = 4;
/// The gpu.module that holds the kernels.
inline constexpr llvm::StringLiteral kKernelsModule = "kernels";

/// The module that holds the functions that call NCCL.
inline constexpr llvm::StringLiteral kCollectivesModule = "collectives";

/// Before every kernel's name: ptxas knows names of its own (13.0 crashes on a
/// kernel `mask`).
inline constexpr llvm::StringLiteral kSymbolPrefix = "tts_";

/// What becomes of the NVVM module.
struct BinaryOptions : mlir::PassPipelineOptions<BinaryOptions> {
  Option<std::string> chip{*this, "chip", llvm::cl::init("sm_80"),
                           llvm::cl::desc("architecture to compile for")};
  Option<std::string> format{
      *this, "format", llvm::cl::init("bin"),
      llvm::cl::desc("bin: a cubin, by the toolkit's ptxas; isa: PTX; fatbin: "
                     "both")};
  Option<std::string> toolkit{
      *this, "toolkit", llvm::cl::init(""),
      llvm::cl::desc("folder of the CUDA toolkit, if it is not CUDA_ROOT, "
                     "CUDA_HOME or CUDA_PATH and ptxas is not on PATH")};
};

/// From the kernels that `tts-to-kernels` makes to a gpu.module of NVVM.
void buildKernelsToNvvmPipeline(mlir::OpPassManager &pm);

/// The same, then to a gpu.binary. Multiply-adds are never fused and no
/// fast-math is assumed.
void buildKernelsToBinaryPipeline(mlir::OpPassManager &pm,
                                  const BinaryOptions &options);

/// Registers `tts-cuda-kernels-to-nvvm` and `tts-cuda-kernels-to-binary`.
void registerTtsTargetCudaPipelines();

/// What the pipelines need of a context; call before it is made.
void registerTranslations(mlir::DialectRegistry &registry);

} // namespace tts::cuda

#endif // TTS_TARGET_CUDA_PASSES_H
