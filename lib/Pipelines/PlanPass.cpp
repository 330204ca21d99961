//===- PlanPass.cpp - tts-plan, the planner as a pass --------------------===//

#include "tts/Dialect/Rt/IR/RtDialect.h"
#include "tts/Dialect/Tts/IR/Names.h"
#include "tts/Pipelines/Passes.h"
#include "tts/Pipelines/Planning.h"
#include "tts/Transforms/Plan/ByteSize.h"

namespace tts {
#define GEN_PASS_DEF_PLANPASS
#include "tts/Pipelines/Passes.h.inc"
} // namespace tts

using namespace mlir;
using namespace tts;

namespace {
struct PlanPass : tts::impl::PlanPassBase<PlanPass> {
  using PlanPassBase::PlanPassBase;

  FailureOr<PlanRequest> readOptions() {
    ModuleOp module = getOperation();
    PlanRequest request;
    std::string name = hardware;
    if (name.empty()) {
      auto attribute = module->getAttrOfType<StringAttr>(kHardwareAttr);
      name = attribute ? attribute.str() : "host";
    }
    auto found = plan::findHardware(name);
    if (!found)
      return module.emitError("hardware ") << llvm::toString(found.takeError());
    request.hardware = *found;
    if (!memoryBudget.empty()) {
      request.budget = plan::parseByteSize(memoryBudget);
      if (!request.budget)
        return module.emitError("memory-budget '")
               << memoryBudget << "' is no size; write bytes such as 80G";
    }
    if (ranks < 1 || threads < 1 || microBatch < 0)
      return module.emitError(
          "ranks and threads must be at least 1, micro-batch not negative");
    if (ranks > 1 && !request.hardware.linkOf(ranks))
      return module.emitError("hardware ")
             << request.hardware.name << " has no link for " << ranks
             << " ranks";
    request.ranks = ranks;
    request.deterministic = deterministic;
    if (!llvm::is_contained(
            {"auto", "none", "optimizer", "gradients", "parameters"},
            shardStates))
      return module.emitError("shard-states '")
             << shardStates
             << "' is not known; auto, none, optimizer, gradients or "
                "parameters is";
    request.shardStates = shardStates;
    if (deterministic && shardStates != "auto" && shardStates != "none")
      return module.emitError(
          "the norm of sharded gradients is rounded as the ranks are, which "
          "deterministic forbids; leave one of them out");
    if (deterministic && kFoldGroups % ranks != 0)
      return module.emitError("deterministic sums are of 1, 2 or 4 ranks, not ")
             << ranks;
    if (!llvm::is_contained({"auto", "fp64", "fp32", "bf16", "fp16"},
                            precision))
      return module.emitError("precision '")
             << precision
             << "' is not supported; auto, fp64, fp32, bf16 or fp16 is";
    request.precision = precision;
    if (remat != "auto" && remat != "none" && remat != "full")
      return module.emitError("remat '")
             << remat << "' is not known; auto, none or full is";
    request.remat = remat;
    if (!llvm::is_contained({"none", "auto", "on"}, optimizerInBackward))
      return module.emitError("optimizer-in-backward '")
             << optimizerInBackward << "' is not known; none, auto or on is";
    request.optimizerInBackward = optimizerInBackward;
    request.halfStorage = halfStorage;
    if (std::string fault = request.findStorageFault(); !fault.empty())
      return module.emitError("half-storage ") << fault;
    request.threads = threads;
    if (microBatch > 0)
      request.microBatch = microBatch;
    return request;
  }

  void runOnOperation() override {
    auto request = readOptions();
    if (failed(request))
      return signalPassFailure();
    auto result = makePlan(getOperation(), *request);
    if (failed(result))
      return signalPassFailure();
    if (!result->fits) {
      getOperation().emitError("no plan fits ")
          << plan::formatByteSize(result->budget) << ": "
          << explainInfeasible(*result);
      return signalPassFailure();
    }
    notePlan(getOperation(), *request, *result);
  }
};
} // namespace
