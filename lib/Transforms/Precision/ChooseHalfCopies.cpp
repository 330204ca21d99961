//===- ChooseHalfCopies.cpp - which parameters get a half copy ------------===//

#include "MixedPrecision.h"
#include "tts/Dialect/Tts/IR/Names.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"
#include "tts/Transforms/Precision/Passes.h"

using namespace mlir;
using namespace tts;

namespace tts {
#define GEN_PASS_DEF_TTSCHOOSEHALFCOPIES
#include "tts/Transforms/Precision/Passes.h.inc"
} // namespace tts

namespace {
struct ChooseHalfCopies : tts::impl::TtsChooseHalfCopiesBase<ChooseHalfCopies> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto plan = module->getAttrOfType<PlanAttr>(kPlanAttr);
    FloatType half =
        plan ? precision::getHalfType(&getContext(), plan.getPrecision())
             : FloatType();
    if (!half)
      return;
    OwningOpRef<ModuleOp> trial = module.clone();
    SmallVector<Attribute> names;
    for (StringAttr name : precision::narrowPrograms(*trial, half))
      names.push_back(name);
    module->setAttr(kHalfCopiesAttr, ArrayAttr::get(&getContext(), names));
  }
};
} // namespace
