//===- Pipeline.cpp - kernels to the LLVM dialect -------------------------===//

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "tts/Conversion/TtsToKernels/Passes.h"
#include "tts/Target/Cpu/Passes.h"

using namespace mlir;

namespace tts::cpu {

void buildKernelsToLLVMPipeline(OpPassManager &pm) {
  pm.addPass(createShareKernelsPass());
  // What works on one function alone runs on several at the same time.
  OpPassManager &functions = pm.nest<func::FuncOp>();
  functions.addPass(createCanonicalizerPass());
  functions.addPass(createCSEPass());
  functions.addPass(createLowerMathPass());
  functions.addPass(createSCFToControlFlowPass());
  functions.addPass(createConvertVectorToLLVMPass());
  functions.addPass(createConvertMathToLLVMPass());
  functions.addPass(createArithToLLVMConversionPass());

  pm.addPass(createFinalizeMemRefToLLVMConversionPass());
  pm.addPass(createConvertControlFlowToLLVMPass());
  ConvertFuncToLLVMPassOptions barePointers;
  barePointers.useBarePtrCallConv = true;
  pm.addPass(createConvertFuncToLLVMPass(barePointers));
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(createEntryPointsPass());
}

void registerTtsTargetCpuPipelines() {
  PassPipelineRegistration<>(
      "tts-cpu-kernels-to-llvm",
      "from the kernels of tts-to-kernels to the LLVM dialect",
      buildKernelsToLLVMPipeline);
}

} // namespace tts::cpu
