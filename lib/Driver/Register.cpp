//===- Register.cpp - every dialect and pass of the compiler -------------===//

#include "tts/Driver/Register.h"

#include "tts/Conversion/RtToLLVM/Passes.h"
#include "tts/Conversion/TtsToKernels/Passes.h"
#include "tts/Conversion/TtsToRt/Passes.h"
#include "tts/Dialect/Rt/IR/RtDialect.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"
#include "tts/Pipelines/Passes.h"
#include "tts/Target/Cpu/Passes.h"
#include "tts/Target/Cuda/Passes.h"
#include "tts/Transforms/Differentiate/Passes.h"
#include "tts/Transforms/Memory/Passes.h"
#include "tts/Transforms/Partition/Passes.h"
#include "tts/Transforms/Precision/Passes.h"
#include "tts/Transforms/Remat/Passes.h"
#include "tts/Transforms/Specialize/Passes.h"
#include "tts/Transforms/Update/Passes.h"
#include "tts/Transforms/Verify/Passes.h"

void tts::registerDialects(mlir::DialectRegistry &registry) {
  registry.insert<TtsDialect, rt::RtDialect>();
}

void tts::registerPasses() {
  registerDifferentiatePasses();
  registerDifferentiatePipelines();
  registerPipelinesPasses();
  registerSpecializePasses();
  registerPrecisionPasses();
  registerRematPasses();
  registerUpdatePasses();
  registerPartitionPasses();
  registerTtsToRtPasses();
  registerMemoryPasses();
  registerVerifyPasses();
  registerTtsToKernelsPasses();
  cpu::registerTtsTargetCpuPasses();
  cpu::registerTtsTargetCpuPipelines();
  cuda::registerTtsTargetCudaPasses();
  cuda::registerTtsTargetCudaPipelines();
  registerRtToLLVMPasses();
}
