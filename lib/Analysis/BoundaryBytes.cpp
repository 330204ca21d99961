//===- BoundaryBytes.cpp - what crosses a cut between layers -------------===//

#include "tts/Analysis/BoundaryBytes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tts/Dialect/Tts/IR/Names.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace tts;

int64_t tts::countElements(Value value, BucketAttr bucket, int64_t batch) {
  auto type = cast<RankedTensorType>(value.getType());
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

/// Where each storage is used last before forward's return, whose results are
/// kept where they were made; views use what they view.
static llvm::MapVector<Value, size_t> findLastUses(Block &body) {
  llvm::MapVector<Value, size_t> last;
  llvm::DenseMap<Value, Value> roots;
  auto rootOf = [&](Value value) {
    Value root = roots.lookup(value);
    return root ? root : value;
  };
  for (auto [index, op] : llvm::enumerate(body.without_terminator())) {
    for (Value operand : op.getOperands())
      if (auto it = last.find(rootOf(operand)); it != last.end())
        it->second = index;
    for (Value result : op.getResults())
      if (op.hasTrait<Alias>() && op.getNumOperands())
        roots[result] = rootOf(op.getOperand(0));
      else
        last[result] = index;
  }
  return last;
}

static int64_t countIn(func::FuncOp forward, BucketAttr bucket,
                       int64_t microBatch, StringRef precision) {
  Block &body = forward.getBody().front();
  size_t count = body.getOperations().size();
  llvm::DenseMap<Operation *, size_t> places;
  for (auto [index, op] : llvm::enumerate(body))
    places[&op] = index;
  // What begins and ends at a place.
  std::vector<int64_t> change(count + 1);
  for (auto [value, last] : findLastUses(body)) {
    Type element = getElementTypeOrSelf(value.getType());
    int64_t bytes = element.getIntOrFloatBitWidth() / 8;
    if (element.isF32() && (precision == "bf16" || precision == "fp16"))
      bytes = 2;
    bytes *= countElements(value, bucket, microBatch);
    change[places.lookup(value.getDefiningOp())] += bytes;
    change[last] -= bytes;
  }
  int64_t live = 0, least = std::numeric_limits<int64_t>::max();
  for (size_t place = 0; place < count; ++place) {
    live += change[place];
    if (place >= count / 4 && place <= count - count / 4)
      least = std::min(least, live);
  }
  return least;
}

int64_t tts::countBoundaryBytes(ModuleOp differentiated, int64_t microBatch,
                                StringRef precision) {
  auto buckets = differentiated->getAttrOfType<ArrayAttr>(kBucketsAttr);
  int64_t most = 0;
  for (auto program : differentiated.getOps<func::FuncOp>()) {
    auto kind = program->getAttrOfType<StringAttr>(kProgramAttr);
    if (!kind || kind.getValue() != "forward" || !buckets)
      continue;
    for (auto bucket : buckets.getAsRange<BucketAttr>())
      most = std::max(most, countIn(program, bucket, microBatch, precision));
  }
  return most;
}
