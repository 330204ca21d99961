//===- NotePlan.cpp - what a module is told of its plan ------------------===//

#include "Candidates.h"

#include "tts/Dialect/Tts/IR/Names.h"
#include "tts/Dialect/Tts/IR/UpdateInBackward.h"
#include "tts/Transforms/Plan/Pipeline.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tts;

void tts::noteConvTimes(ModuleOp module, const plan::Hardware &hardware) {
  Builder builder(module.getContext());
  SmallVector<Attribute> rows;
  for (const plan::ConvTime &t : hardware.convTimes)
    rows.push_back(builder.getDenseI64ArrayAttr(
        {t.transpose, t.rows, t.in, t.out, t.taps, t.productsNs, t.libraryNs}));
  module->setAttr(kConv1dTimesAttr, builder.getArrayAttr(rows));
}

void tts::noteRanks(ModuleOp module, const PlanRequest &request) {
  Builder builder(module.getContext());
  if (request.ranks > 1)
    module->setAttr(kRanksAttr, builder.getI64IntegerAttr(request.ranks));
  if (request.deterministic)
    module->setAttr(kDeterministicAttr, builder.getUnitAttr());
}

void tts::noteStage(ModuleOp module, const PlanRequest &request,
                    ArrayAttr starts, int64_t stage) {
  Builder b(module.getContext());
  int64_t stages = int64_t(starts.size()) + 1;
  int64_t batch = module->getAttrOfType<IntegerAttr>(kBatchAttr).getInt();
  module->setAttr(kRanksAttr, b.getI64IntegerAttr(request.ranks));
  module->setAttr(kStageStartsAttr, starts);
  module->setAttr(kStageAttr, b.getI64IntegerAttr(stage));
  // There are no more micro-batches than utterances.
  module->setAttr(kSlotsAttr,
                  b.getI64IntegerAttr(
                      std::min(plan::slotsOfStage(stage, stages),
                               shareOfBatch(batch, request.ranks / stages))));
}

void tts::notePlan(ModuleOp module, const PlanRequest &request,
                   const PlanResult &result) {
  module->setAttr(kPlanAttr, result.plan);
  if (result.choice().updateInBackward)
    module->setAttr(kUpdateInBackwardAttr, UnitAttr::get(module.getContext()));
  if (StringRef sharding = result.choice().stateSharding; sharding != "none")
    module->setAttr(kStateShardingAttr,
                    StringAttr::get(module.getContext(), sharding));
  if (int64_t ahead = result.choice().prefetch)
    module->setAttr(kPrefetchAttr,
                    Builder(module.getContext()).getI64IntegerAttr(ahead));
  noteRanks(module, request);
  if (result.stages.count > 1)
    module->setAttr(kStageStartsAttr, result.stages.starts);
}

int64_t tts::hostUtterances(int64_t share, int64_t ranks) {
  return 2 * share + (ranks > 1);
}

int64_t tts::shareOfBatch(int64_t batch, int64_t ranks) {
  return llvm::divideCeil(batch, ranks);
}
