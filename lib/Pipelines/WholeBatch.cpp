//===- WholeBatch.cpp - models whose batch cannot be split ---------------===//
// Statistics over the update (batch normalisation) are another function of
// parts of it: such a model has one bucket and one micro-batch, or no plan.

#include "tts/Pipelines/WholeBatch.h"

#include "tts/Dialect/Tts/IR/Names.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"

using namespace mlir;
using namespace tts;

Operation *tts::findWholeBatchOp(ModuleOp differentiated) {
  Operation *found = nullptr;
  for (auto program : differentiated.getOps<func::FuncOp>())
    program.walk([&](Operation *op) {
      if (!op->hasTrait<NeedsWholeBatch>())
        return WalkResult::advance();
      found = op;
      return WalkResult::interrupt();
    });
  return found;
}

/// "--bucket=text=208,frames=1000": one that holds what all of them hold.
static std::string joinBuckets(ArrayAttr buckets) {
  llvm::MapVector<StringRef, int64_t> largest;
  for (auto bucket : buckets.getAsRange<BucketAttr>())
    for (auto [name, size] : llvm::zip(bucket.getNames(), bucket.getSizes())) {
      int64_t &most = largest[name.getValue()];
      most = std::max(most, size);
    }
  std::string text = "--bucket=";
  llvm::raw_string_ostream os(text);
  llvm::interleave(
      largest, os, [&](auto &dim) { os << dim.first << "=" << dim.second; },
      ",");
  return text;
}

std::optional<SplitBatch> tts::findSplitBatch(ModuleOp differentiated,
                                              const PlanRequest &request) {
  Operation *op = findWholeBatchOp(differentiated);
  auto batch = differentiated->getAttrOfType<IntegerAttr>(kBatchAttr);
  auto buckets = differentiated->getAttrOfType<ArrayAttr>(kBucketsAttr);
  if (!op || !batch || !buckets)
    return std::nullopt;
  const std::string takes =
      ("'" + op->getName().getStringRef() +
       "' looks at all utterances of an update together, but ")
          .str();
  if (request.ranks > 1)
    return SplitBatch{op->getLoc(),
                      takes + std::to_string(request.ranks) +
                          " ranks would share them",
                      "use --ranks=1"};
  if (request.deterministic)
    return SplitBatch{op->getLoc(),
                      takes + "--deterministic sums four groups of them apart",
                      "leave it out"};
  if (request.microBatch && *request.microBatch < batch.getInt()) {
    std::string count = std::to_string(batch.getInt());
    return SplitBatch{
        op->getLoc(),
        takes + "--micro-batch=" + std::to_string(*request.microBatch) +
            " splits the batch of " + count,
        "give --micro-batch=" + count + " or auto, or a smaller --batch"};
  }
  if (buckets.size() > 1)
    return SplitBatch{op->getLoc(),
                      takes + "the model's " + std::to_string(buckets.size()) +
                          " buckets would part them",
                      "give one bucket, " + joinBuckets(buckets)};
  return std::nullopt;
}
