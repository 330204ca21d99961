//===- Partition.cpp - gradients of all ranks become one -----------------===//

#include "Folds.h"
#include "Sharding.h"
#include "Stages.h"
#include "tts/Dialect/Tts/IR/Names.h"
#include "tts/Transforms/Partition/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace tts;

namespace tts {
#define GEN_PASS_DEF_TTSPARTITION
#include "tts/Transforms/Partition/Passes.h.inc"
} // namespace tts

/// The gradients that the program reads, by element type.
static llvm::MapVector<Type, SmallVector<Value>>
findGradients(func::FuncOp update) {
  llvm::MapVector<Type, SmallVector<Value>> gradients;
  for (BlockArgument argument : update.getArguments())
    if (!argument.use_empty() &&
        update.getArgAttr(argument.getArgNumber(), kGradientAttr))
      gradients[getElementTypeOrSelf(argument.getType())].push_back(argument);
  return gradients;
}

static void reduceGradients(func::FuncOp update) {
  OpBuilder builder = OpBuilder::atBlockBegin(&update.getBody().front());
  auto name = NameLoc::get(builder.getStringAttr("gradients.all_reduce"));
  for (auto &[type, gradients] : findGradients(update)) {
    auto sums = AllReduceOp::create(builder, name, TypeRange(gradients),
                                    ValueRange(gradients));
    for (auto [gradient, sum] : llvm::zip(gradients, sums.getSums()))
      gradient.replaceAllUsesExcept(sum, sums);
  }
}

/// Fails where the module names no level that there is.
static FailureOr<partition::Sharding> readSharding(ModuleOp module,
                                                   int64_t ranks) {
  using partition::Sharding;
  auto name = module->getAttrOfType<StringAttr>(kStateShardingAttr);
  if (!name)
    return Sharding{Sharding::None, ranks, 0};
  auto level = llvm::StringSwitch<std::optional<Sharding::Level>>(name)
                   .Case("optimizer", Sharding::Optimizer)
                   .Case("gradients", Sharding::Gradients)
                   .Case("parameters", Sharding::Parameters)
                   .Default(std::nullopt);
  auto prefetch = module->getAttrOfType<IntegerAttr>(kPrefetchAttr);
  if (prefetch && prefetch.getInt() < 0)
    return module.emitError("tts.prefetch is ")
           << prefetch.getInt() << "; it must not be negative";
  if (level)
    return Sharding{*level, ranks, prefetch ? prefetch.getInt() : 0};
  return module.emitError("tts.state_sharding is ")
         << name
         << "; it must be \"optimizer\", \"gradients\" or "
            "\"parameters\"";
}

/// Ranks are the replicas of each stage, stage by stage.
static LogicalResult cutIntoStages(ModuleOp module, int64_t ranks,
                                   int64_t stages) {
  auto stage = module->getAttrOfType<IntegerAttr>(kStageAttr);
  if (!stage || stage.getInt() < 0 || stage.getInt() >= stages)
    return module.emitError("tts.stage must be one of the ")
           << stages << " stages that tts.stage_starts cuts forward into";
  if (ranks % stages != 0)
    return module.emitError("tts.ranks is ")
           << ranks << ", which " << stages << " stages cannot share";
  if (module->hasAttr(kStateShardingAttr) ||
      module->hasAttr(kDeterministicAttr))
    return module.emitError("a pipeline's states are whole, and its sums have "
                            "no fixed order; take tts.state_sharding or "
                            "tts.deterministic off, or tts.stage_starts");
  return partition::cutStage(module, ranks / stages);
}

namespace {
struct Partition : tts::impl::TtsPartitionBase<Partition> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto attribute = module->getAttrOfType<IntegerAttr>(kRanksAttr);
    int64_t ranks = attribute ? attribute.getInt() : 1;
    if (module->hasAttr(kDeterministicAttr) && failed(addFolds(module, ranks)))
      return signalPassFailure();
    if (ranks == 1)
      return;
    if (auto starts = module->getAttrOfType<ArrayAttr>(kStageStartsAttr)) {
      if (failed(cutIntoStages(module, ranks, int64_t(starts.size()) + 1)))
        signalPassFailure();
      return;
    }
    auto sharding = readSharding(module, ranks);
    if (failed(sharding))
      return signalPassFailure();
    SmallVector<func::FuncOp> programs;
    func::FuncOp update;
    for (auto program : module.getOps<func::FuncOp>())
      if (auto kind = program->getAttrOfType<StringAttr>(kProgramAttr)) {
        programs.push_back(program);
        if (kind == "update")
          update = program;
      }
    if (sharding->level > partition::Sharding::Optimizer)
      partition::shardPrograms(programs, update, *sharding);
    if (!update)
      return;
    if (sharding->level == partition::Sharding::None)
      return reduceGradients(update);
    partition::shardUpdate(update, *sharding);
  }
};
} // namespace
