//===- CollectiveOps.cpp - what a collective asks of its values -----------===//

#include "tts/Dialect/Tts/IR/TtsDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tts;

static bool haveOneElementType(TypeRange types) {
  return llvm::all_of(types, [&](Type type) {
    return getElementTypeOrSelf(type) == getElementTypeOrSelf(types.front());
  });
}

LogicalResult AllReduceOp::verify() {
  if (getValues().empty())
    return emitOpError("has nothing to sum");
  if (auto among = getAmong();
      among && *among != "replicas" && *among != "stages")
    return emitOpError("sums among \"replicas\" or \"stages\", not \"")
           << *among << "\"";
  if (getValues().getTypes() != getSums().getTypes())
    return emitOpError("gives sums of other types than its values");
  if (!haveOneElementType(getValues().getTypes()))
    return emitOpError("sums values of several element types; use an op for "
                       "each");
  return success();
}

RankedTensorType tts::getShardType(RankedTensorType type, int64_t ranks) {
  return RankedTensorType::get(
      {llvm::divideCeilSigned(type.getNumElements(), ranks)},
      type.getElementType());
}

/// What all three ops ask: so many shards as values, each of its value's type.
static LogicalResult verifyShards(Operation *op, int64_t ranks,
                                  TypeRange values, TypeRange shards) {
  if (ranks < 2)
    return op->emitOpError("shards values over ")
           << ranks << " ranks; it takes two";
  if (values.empty() || values.size() != shards.size())
    return op->emitOpError("has ")
           << values.size() << " values and " << shards.size() << " shards";
  for (auto [value, shard] : llvm::zip(values, shards)) {
    RankedTensorType wanted =
        getShardType(cast<RankedTensorType>(value), ranks);
    if (shard != wanted)
      return op->emitOpError("a shard of ")
             << value << " over " << ranks << " ranks is " << wanted << ", not "
             << shard;
  }
  return success();
}

LogicalResult ShardOp::verify() {
  return verifyShards(*this, getRanks(), getValues().getTypes(),
                      getShards().getTypes());
}

/// Whether a use is more than to wait until the value is there.
static bool readsBytes(OpOperand &use) {
  return !isa<RecomputeAfterOp>(use.getOwner()) || use.getOperandNumber() == 0;
}

LogicalResult ReduceScatterOp::verify() {
  if (failed(verifyShards(*this, getRanks(), getValues().getTypes(),
                          getShards().getTypes())))
    return failure();
  if (!haveOneElementType(getValues().getTypes()))
    return emitOpError("sums values of several element types; use an op for "
                       "each");
  if (!getAccumulators().empty() &&
      getAccumulators().getTypes() != getShards().getTypes())
    return emitOpError("has accumulators of other types than its shards");
  for (Value value : getValues())
    if (llvm::count_if(value.getUses(), readsBytes) != 1)
      return emitOpError("uses up a value that something else reads");
  return success();
}

LogicalResult AllGatherOp::verify() {
  if (failed(verifyShards(*this, getRanks(), getValues().getTypes(),
                          getShards().getTypes())))
    return failure();
  if (!haveOneElementType(getValues().getTypes()))
    return emitOpError("gathers values of several element types; use an op for "
                       "each");
  return success();
}
