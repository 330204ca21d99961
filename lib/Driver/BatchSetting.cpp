//===- BatchSetting.cpp - batch, and the rate that goes with it -----------===//

#include "BatchSetting.h"

#include "tts/Dialect/Tts/IR/Names.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace mlir;
using namespace tts;

static constexpr llvm::StringLiteral kRateAttr = "tts.lr";

static std::string textOf(Attribute value) {
  if (auto number = dyn_cast_or_null<IntegerAttr>(value))
    return std::to_string(number.getInt());
  if (auto number = dyn_cast_or_null<FloatAttr>(value)) {
    std::string digits;
    llvm::raw_string_ostream(digits)
        << llvm::format("%g", number.getValueAsDouble());
    return digits;
  }
  if (auto string = dyn_cast_or_null<StringAttr>(value))
    return string.str();
  return "none";
}

void ModuleSettings::set(StringRef name, Attribute value) {
  Attribute before = module->getAttr(name);
  if (textOf(before) != textOf(value))
    changes.push_back(llvm::formatv("{0} {1} instead of the model's {2}",
                                    name.drop_front(StringRef("tts.").size()),
                                    textOf(value), textOf(before)));
  if (value)
    module->setAttr(name, value);
  else
    module->removeAttr(name);
}

BatchSetting::BatchSetting(ModuleOp module, const PlanningFlags &flags)
    : module(module), flags(flags),
      ownBatch(module->getAttrOfType<IntegerAttr>(kBatchAttr)),
      ownRate(module->getAttrOfType<FloatAttr>(kRateAttr)) {}

int64_t BatchSetting::get() const {
  return module->getAttrOfType<IntegerAttr>(kBatchAttr).getInt();
}

llvm::Error BatchSetting::set() {
  int64_t batch = flags.batch.getNumOccurrences() ? flags.batch
                  : ownBatch                      ? ownBatch.getInt()
                                                  : 0;
  if (batch < 1)
    return badUsage("--batch", "the model has no positive tts.batch",
                    "give --batch=B");
  return set(batch);
}

llvm::Error BatchSetting::set(int64_t batch) {
  changes.clear();
  if (ownBatch)
    module->setAttr(kBatchAttr, ownBatch);
  if (ownRate)
    module->setAttr(kRateAttr, ownRate);
  ModuleSettings settings(module, changes);
  settings.set(kBatchAttr,
               Builder(module.getContext()).getI64IntegerAttr(batch));
  return scaleRate(settings);
}

/// The model's rate at another batch than that it is for. Warm-up is counted in
/// updates and stays.
llvm::Error BatchSetting::scaleRate(ModuleSettings &settings) {
  if (flags.lrScale == "none")
    return llvm::Error::success();
  Builder b(module.getContext());
  int64_t base = flags.lrBaseBatch.getNumOccurrences() ? flags.lrBaseBatch
                 : ownBatch                            ? ownBatch.getInt()
                                                       : 0;
  if (!ownRate || base < 1)
    return badUsage("--lr-scale",
                    ownRate ? "the model has no batch that its rate is for"
                            : "the model has no tts.lr to scale",
                    ownRate ? "give --lr-base-batch=B0"
                            : "leave it out and give train --lr");
  double factor = double(get()) / double(base);
  if (flags.lrScale == "sqrt")
    factor = std::sqrt(factor);
  settings.set(kRateAttr,
               b.getF64FloatAttr(ownRate.getValueAsDouble() * factor));
  module->setAttr(kLrScaleAttr, b.getStringAttr(flags.lrScale.getValue()));
  return llvm::Error::success();
}

SmallVector<int64_t> tts::getLowerBatches(int64_t batch, int64_t least) {
  SmallVector<int64_t> batches;
  for (batch /= 2; batch >= std::max<int64_t>(least, 1); batch /= 2)
    batches.push_back(batch);
  return batches;
}
