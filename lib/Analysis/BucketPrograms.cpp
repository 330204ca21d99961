//===- BucketPrograms.cpp - forward and backward of each bucket ----------===//

#include "tts/Analysis/BucketPrograms.h"

#include "tts/Dialect/Tts/IR/Names.h"

using namespace mlir;
using namespace tts;

llvm::MapVector<int64_t, BucketPrograms>
tts::getBucketPrograms(ModuleOp module) {
  llvm::MapVector<int64_t, BucketPrograms> buckets;
  for (auto program : module.getOps<func::FuncOp>()) {
    auto kind = program->getAttrOfType<StringAttr>(kProgramAttr);
    auto bucket = program->getAttrOfType<IntegerAttr>(kBucketAttr);
    if (!kind || !bucket)
      continue;
    if (kind.getValue() == "forward")
      buckets[bucket.getInt()].forward = program;
    if (kind.getValue() == "backward")
      buckets[bucket.getInt()].backward = program;
  }
  return buckets;
}
