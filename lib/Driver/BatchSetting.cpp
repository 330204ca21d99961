//===- BatchSetting.cpp - batch, and the rate that goes with it -----------===//

#include "BatchSetting.h"

#include "tts/Dialect/Tts/IR/Names.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"
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
      ownFrames(module->getAttrOfType<IntegerAttr>(kBatchFramesAttr)),
      ownRate(module->getAttrOfType<FloatAttr>(kRateAttr)) {}

int64_t BatchSetting::get() const {
  return module->getAttrOfType<IntegerAttr>(kBatchAttr).getInt();
}

int64_t BatchSetting::getFrames() const {
  auto frames = module->getAttrOfType<IntegerAttr>(kBatchFramesAttr);
  return frames ? frames.getInt() : 0;
}

/// On average over the buckets, or 0.
double BatchSetting::framesOfBuckets() const {
  double frames = 0;
  auto buckets = module->getAttrOfType<ArrayAttr>(kBucketsAttr);
  for (auto bucket : buckets.getAsRange<BucketAttr>())
    for (auto [name, size] : llvm::zip(bucket.getNames(), bucket.getSizes()))
      if (name.getValue() == "frames")
        frames += double(size) / buckets.size();
  return frames;
}

llvm::Error BatchSetting::set(double framesOfUtterance) {
  asked = flags.batch.getNumOccurrences() ? flags.batch
          : ownBatch                      ? ownBatch.getInt()
                                          : 0;
  askedFrames = flags.batchFrames.getNumOccurrences() ? flags.batchFrames
                : flags.batch.getNumOccurrences()     ? 0
                : ownFrames                           ? ownFrames.getInt()
                                                      : 0;
  if (askedFrames > 0) {
    double each = framesOfUtterance > 0 ? framesOfUtterance : framesOfBuckets();
    if (each <= 0)
      return badUsage("--batch-frames", "the model's buckets have no frames",
                      "give --batch=B");
    asked = std::max<int64_t>(1, std::llround(double(askedFrames) / each));
  }
  if (asked < 1)
    return badUsage("--batch", "the model has no positive tts.batch",
                    "give --batch=B");
  return set(asked);
}

llvm::Error BatchSetting::set(int64_t batch) {
  changes.clear();
  Builder b(module.getContext());
  if (ownBatch)
    module->setAttr(kBatchAttr, ownBatch);
  if (ownRate)
    module->setAttr(kRateAttr, ownRate);
  ModuleSettings settings(module, changes);
  if (askedFrames > 0) {
    int64_t frames = std::max<int64_t>(
        1, std::llround(double(askedFrames) * double(batch) / double(asked)));
    module->setAttr(kBatchAttr, b.getI64IntegerAttr(batch));
    if (!ownFrames || ownFrames.getInt() != frames)
      changes.push_back(llvm::formatv(
          "batch of {0} frames, about {1} utterances, instead of the model's "
          "{2}",
          frames, batch,
          ownFrames ? llvm::formatv("{0} frames", ownFrames.getInt()).str()
                    : textOf(ownBatch)));
    module->setAttr(kBatchFramesAttr, b.getI64IntegerAttr(frames));
  } else {
    module->removeAttr(kBatchFramesAttr);
    settings.set(kBatchAttr, b.getI64IntegerAttr(batch));
  }
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
