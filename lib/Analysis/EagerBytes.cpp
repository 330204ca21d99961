//===- EagerBytes.cpp - what an eager framework would hold ---------------===//
//
// Every operation's result of a forward pass over the whole batch stays alive
// for the backward pass; views and constants cost nothing, a dropout keeps its
// mask in bytes. On top come the states, the batch and, in the backward pass,
// a gradient of the largest tensor beside the one it is made from.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tts/Dialect/Tts/IR/Names.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"
#include "tts/Pipelines/StepMeasure.h"

using namespace mlir;
using namespace tts;

namespace {
/// Sizes of one bucket with the whole batch.
struct Sizes {
  BucketAttr bucket;
  int64_t batch;
  bool isDouble;

  int64_t elements(RankedTensorType type) const {
    auto dims = dyn_cast_or_null<DimsAttr>(type.getEncoding());
    int64_t product = 1;
    for (auto [index, size] : llvm::enumerate(type.getShape())) {
      if (!ShapedType::isDynamic(size))
        product *= size;
      else if (dims && dims.getNames()[index] == "batch")
        product *= batch;
      else if (dims)
        product *= bucket.lookup(dims.getNames()[index].getValue()).value_or(1);
    }
    return product;
  }

  int64_t bytes(Type type) const {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      return 0;
    unsigned bits = tensor.getElementTypeBitWidth();
    if (isDouble && tensor.getElementType().isF32())
      bits = 64;
    return elements(tensor) * (bits / 8);
  }
};

int64_t bytesOfForward(func::FuncOp forward, const Sizes &sizes) {
  int64_t sum = 0, largest = 0;
  for (BlockArgument argument : forward.getArguments())
    if (forward.getArgAttr(argument.getArgNumber(), kInputAttr))
      sum += sizes.bytes(argument.getType());
  for (Operation &op : forward.getBody().front()) {
    if (op.hasTrait<OpTrait::IsTerminator>() || op.hasTrait<Alias>() ||
        op.hasTrait<Indexing>())
      continue;
    for (Type type : op.getResultTypes()) {
      sum += sizes.bytes(type);
      largest = std::max(largest, sizes.bytes(type));
      if (isa<TrainingOnlyOpInterface>(op) && op.hasTrait<Pointwise>())
        sum += sizes.elements(cast<RankedTensorType>(type));
    }
  }
  return sum + 2 * largest;
}
} // namespace

int64_t tts::countEagerBytes(ModuleOp differentiated, int64_t batch,
                             StringRef precision, int64_t states) {
  int64_t most = 0;
  auto buckets = differentiated->getAttrOfType<ArrayAttr>(kBucketsAttr);
  for (auto program : differentiated.getOps<func::FuncOp>()) {
    auto kind = program->getAttrOfType<StringAttr>(kProgramAttr);
    if (!kind || kind.getValue() != "forward")
      continue;
    for (auto bucket : buckets.getAsRange<BucketAttr>())
      most = std::max(
          most, bytesOfForward(program, {bucket, batch, precision == "fp64"}));
  }
  return states + most;
}
