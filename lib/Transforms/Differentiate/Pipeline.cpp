//===- Pipeline.cpp - the order of passes inside Differentiate -----------===//

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "tts/Transforms/Differentiate/Passes.h"

using namespace mlir;

void tts::buildDifferentiatePipeline(OpPassManager &manager) {
  manager.addNestedPass<func::FuncOp>(createInsertMasks());
  // Equal values merge first, else both copies are stashed.
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  manager.addPass(createDifferentiate());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
}

void tts::registerDifferentiatePipelines() {
  PassPipelineRegistration<>(
      "tts-differentiate-pipeline",
      "masks, differentiation and the clean-up around them",
      buildDifferentiatePipeline);
}
