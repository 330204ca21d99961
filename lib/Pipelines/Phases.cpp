//===- Phases.cpp - the order of phases ----------------------------------===//

#include "tts/Pipelines/Phases.h"

#include "tts/Conversion/RtToLLVM/Passes.h"
#include "tts/Conversion/TtsToKernels/Passes.h"
#include "tts/Conversion/TtsToRt/Passes.h"
#include "tts/Dialect/Tts/IR/Names.h"
#include "tts/Dialect/Tts/IR/UpdateInBackward.h"
#include "tts/Target/Cpu/Passes.h"
#include "tts/Transforms/Differentiate/Passes.h"
#include "tts/Transforms/Memory/Passes.h"
#include "tts/Transforms/Partition/Passes.h"
#include "tts/Transforms/Precision/Passes.h"
#include "tts/Transforms/Remat/Passes.h"
#include "tts/Transforms/Specialize/Passes.h"
#include "tts/Transforms/Update/Passes.h"
#include "tts/Transforms/Verify/Passes.h"

using namespace mlir;
using namespace tts;

static constexpr StringRef kPhaseNames[] = {
    "differentiate", "plan",   "specialize", "precision", "rematerialize",
    "partition",     "select", "memory",     "lower"};

ArrayRef<StringRef> tts::getPhaseNames() { return kPhaseNames; }

std::optional<Phase> tts::parsePhase(StringRef name) {
  auto it = llvm::find(kPhaseNames, name);
  if (it == std::end(kPhaseNames))
    return std::nullopt;
  return static_cast<Phase>(it - kPhaseNames);
}

static void addContract(OpPassManager &manager, StringRef level,
                        const PipelineOptions &options) {
  if (!options.verifyContracts)
    return;
  VerifyContractOptions contract;
  contract.level = level.str();
  manager.addPass(createVerifyContract(contract));
}

void tts::buildPhase(Phase phase, OpPassManager &manager,
                     const PipelineOptions &options) {
  switch (phase) {
  case Phase::Differentiate:
    addContract(manager, "source", options);
    buildDifferentiatePipeline(manager);
    addContract(manager, "differentiate", options);
    break;
  case Phase::Plan:
    break;
  case Phase::Specialize: {
    manager.addPass(createTtsChooseHalfCopies());
    TtsSpecializeOptions specialize;
    specialize.onlyBucket = options.onlyBucket.value_or(-1);
    manager.addPass(createTtsSpecialize(specialize));
    addContract(manager, "specialize", options);
    break;
  }
  case Phase::Precision:
    manager.addPass(createTtsPrecision());
    manager.addPass(createTtsStoreHalf());
    addContract(manager, "precision", options);
    break;
  case Phase::Rematerialize:
    manager.addPass(createTtsRematerialize());
    manager.addPass(createTtsMoveUpdate());
    addContract(manager, "rematerialize", options);
    break;
  case Phase::Partition:
    manager.addPass(createTtsPartition());
    addContract(manager, "partition", options);
    break;
  case Phase::Select:
    manager.addPass(cpu::createConv1dChoicePass());
    manager.addPass(cpu::createEpilogueChoicePass());
    manager.addPass(createTtsSelect());
    addContract(manager, "select", options);
    manager.addPass(cpu::createGemmScratchPass());
    break;
  case Phase::Memory:
    manager.addPass(createTtsMemory());
    addContract(manager, "memory", options);
    break;
  case Phase::Lower:
    manager.addPass(cpu::createGemmKernelsPass());
    manager.addPass(createTtsToKernelsPass());
    cpu::buildKernelsToLLVMPipeline(manager);
    manager.addPass(createRtToLLVMPass());
    addContract(manager, "lower", options);
    break;
  }
}

void tts::loadDialects(MLIRContext &context, Phase first, Phase last,
                       const PipelineOptions &options) {
  PassManager manager(&context);
  for (int phase = static_cast<int>(first); phase <= static_cast<int>(last);
       ++phase)
    buildPhase(static_cast<Phase>(phase), manager, options);
  DialectRegistry needed;
  manager.getDependentDialects(needed);
  context.appendDialectRegistry(needed);
  for (StringRef name : needed.getDialectNames())
    context.getOrLoadDialect(name);
}

LogicalResult tts::runPhases(ModuleOp module, Phase first, Phase last,
                             const PipelineOptions &options) {
  for (int phase = static_cast<int>(first); phase <= static_cast<int>(last);
       ++phase) {
    PassManager manager(module.getContext());
    manager.enableVerifier(options.verifyEach);
    buildPhase(static_cast<Phase>(phase), manager, options);
    if (manager.empty())
      continue;
    TimingScope timing;
    if (options.timing) {
      timing = options.timing->nest(kPhaseNames[phase]);
      manager.enableTiming(timing);
    }
    if (failed(manager.run(module)))
      return failure();
  }
  return success();
}

FailureOr<OwningOpRef<ModuleOp>>
tts::lowerToMemory(ModuleOp differentiated, PlanAttr plan,
                   const PipelineOptions &options) {
  OwningOpRef<ModuleOp> module = differentiated.clone();
  (*module)->setAttr(kPlanAttr, plan);
  if (options.updateInBackward)
    (*module)->setAttr(kUpdateInBackwardAttr,
                       UnitAttr::get(module->getContext()));
  if (options.stateSharding != "none")
    (*module)->setAttr(
        kStateShardingAttr,
        StringAttr::get(module->getContext(), options.stateSharding));
  if (options.prefetch)
    (*module)->setAttr(
        kPrefetchAttr,
        Builder(module->getContext()).getI64IntegerAttr(options.prefetch));
  if (failed(runPhases(*module, Phase::Specialize, Phase::Memory, options)))
    return failure();
  return module;
}
