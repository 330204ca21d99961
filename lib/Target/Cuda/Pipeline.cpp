//===- Pipeline.cpp - kernels to NVVM and to cubins -----------------------===//

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVM/NVVM/Target.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Transforms/Passes.h"
#include "tts/Conversion/TtsToKernels/Passes.h"
#include "tts/Target/Cuda/Passes.h"

using namespace mlir;

namespace tts::cuda {

void buildKernelsToNvvmPipeline(OpPassManager &pm) {
  OpPassManager &functions = pm.nest<func::FuncOp>();
  functions.addPass(createCanonicalizerPass());
  functions.addPass(createCSEPass());
  pm.addPass(createKernelsToGpuPass());

  OpPassManager &module = pm.nest<gpu::GPUModuleOp>();
  OpPassManager &kernels = module.nest<gpu::GPUFuncOp>();
  kernels.addPass(createCanonicalizerPass());
  kernels.addPass(createCSEPass());
  kernels.addPass(createLowerMathPass());
  kernels.addPass(createRoundedMathPass());
  kernels.addPass(createSCFToControlFlowPass());
  ConvertGpuOpsToNVVMOpsOptions barePointers;
  barePointers.useBarePtrCallConv = true;
  module.addPass(createConvertGpuOpsToNVVMOps(barePointers));
  module.addPass(createReconcileUnrealizedCastsPass());
}

void buildKernelsToBinaryPipeline(OpPassManager &pm,
                                  const BinaryOptions &options) {
  buildKernelsToNvvmPipeline(pm);
  GpuNVVMAttachTargetOptions target;
  target.chip = options.chip;
  target.optLevel = 3;
  pm.addPass(createGpuNVVMAttachTarget(target));
  GpuModuleToBinaryPassOptions binary;
  binary.compilationTarget = options.format;
  binary.toolkitPath = options.toolkit;
  pm.addPass(createGpuModuleToBinaryPass(binary));
}

void registerTtsTargetCudaPipelines() {
  PassPipelineRegistration<>("tts-cuda-kernels-to-nvvm",
                             "from the kernels of tts-to-kernels to a "
                             "gpu.module of NVVM",
                             buildKernelsToNvvmPipeline);
  PassPipelineRegistration<BinaryOptions>(
      "tts-cuda-kernels-to-binary",
      "from the kernels of tts-to-kernels to a cubin or PTX",
      buildKernelsToBinaryPipeline);
}

void registerTranslations(DialectRegistry &registry) {
  arith::registerConvertArithToLLVMInterface(registry);
  cf::registerConvertControlFlowToLLVMInterface(registry);
  registerConvertMemRefToLLVMInterface(registry);
  registerConvertNVVMToLLVMInterface(registry);
  registerBuiltinDialectTranslation(registry);
  registerGPUDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
  NVVM::registerNVVMTargetInterfaceExternalModels(registry);
}

} // namespace tts::cuda
