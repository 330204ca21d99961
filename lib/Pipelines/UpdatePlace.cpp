//===- UpdatePlace.cpp - whether backward may update parameters ----------===//

#include "tts/Pipelines/UpdatePlace.h"

#include "tts/Dialect/Tts/IR/Names.h"

using namespace mlir;
using namespace tts;

std::optional<UpdateRefusal>
tts::findSeveralMicroBatches(ModuleOp module, const PlanRequest &request) {
  auto buckets = module->getAttrOfType<ArrayAttr>(kBucketsAttr);
  auto batch = module->getAttrOfType<IntegerAttr>(kBatchAttr);
  if (request.ranks > 1)
    return UpdateRefusal{"the gradients of " + std::to_string(request.ranks) +
                             " ranks are added up before the update",
                         "use --ranks=1"};
  if (request.deterministic)
    return UpdateRefusal{"four groups of micro-batches are summed apart",
                         "leave --deterministic out"};
  if (buckets && buckets.size() > 1)
    return UpdateRefusal{"an update has micro-batches of " +
                             std::to_string(buckets.size()) + " buckets",
                         "give one --bucket"};
  if (batch && request.microBatch && *request.microBatch < batch.getInt())
    return UpdateRefusal{
        "--micro-batch=" + std::to_string(*request.microBatch) +
            " splits the batch of " + std::to_string(batch.getInt()),
        "leave it out, or give a smaller --batch"};
  return std::nullopt;
}

std::optional<UpdateRefusal>
tts::findUpdateRefusal(ModuleOp module, const PlanRequest &request) {
  if (request.optimizerInBackward == "none")
    return std::nullopt;
  auto clip = module->getAttrOfType<FloatAttr>(kGradClipAttr);
  if (clip && clip.getValueAsDouble() > 0)
    return UpdateRefusal{
        "gradients are clipped by their global norm, which is known when all "
        "of them are",
        "give --grad-clip=0 to train without clipping"};
  if (request.precision == "fp16")
    return UpdateRefusal{
        "an update in fp16 is tried again with a smaller loss scale where a "
        "gradient overflows",
        "use another --precision"};
  if (request.optimizerInBackward == "on")
    return findSeveralMicroBatches(module, request);
  return std::nullopt;
}
