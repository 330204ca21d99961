//===- Epilogues.cpp - sums that a product's own call can do --------------===//

#include "tts/Analysis/Epilogues.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tts;

/// The op behind `value`, if it makes nothing else and nobody else reads it.
static Operation *getOnlyOwn(Value value, Operation *reader) {
  Operation *op = value.getDefiningOp();
  bool own = op && op->getBlock() == reader->getBlock() && value.hasOneUse();
  return own ? op : nullptr;
}

/// A linear layer or a whole convolution; one in groups is several products.
static Operation *getProduct(Value value, Operation *reader) {
  Operation *op = getOnlyOwn(value, reader);
  if (auto conv = dyn_cast_or_null<Conv1dOp>(op))
    return conv.getGroups() == 1 ? op : nullptr;
  return isa_and_nonnull<LinearOp>(op) ? op : nullptr;
}

/// The row that `value` repeats along all dimensions but the last, or null.
static Value getRow(Value value) {
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  if (!broadcast)
    return {};
  auto type = cast<RankedTensorType>(value.getType());
  ArrayRef<int64_t> dims = broadcast.getDims();
  bool isRow = dims.size() == 1 && dims[0] == type.getRank() - 1;
  return isRow ? broadcast.getX() : Value();
}

/// product + bias.
static std::optional<Epilogue> matchBias(AddOp add) {
  Value operands[] = {add->getOperand(0), add->getOperand(1)};
  for (int i : {0, 1})
    if (Operation *product = getProduct(operands[i], add))
      if (Value bias = getRow(operands[1 - i]))
        return Epilogue{
            product, bias, {}, {operands[1 - i].getDefiningOp(), add}};
  return std::nullopt;
}

std::optional<Epilogue> tts::matchEpilogue(Operation *root) {
  auto add = dyn_cast<AddOp>(root);
  if (!add)
    return std::nullopt;
  if (auto biased = matchBias(add))
    return biased;
  for (int i : {0, 1}) {
    Value sum = add->getOperand(i), other = add->getOperand(1 - i);
    Operation *maker = other.getDefiningOp();
    if (maker && maker->hasTrait<Indexing>())
      continue; // it has no bytes to add onto
    if (auto inner = dyn_cast_or_null<AddOp>(getOnlyOwn(sum, add)))
      if (auto found = matchBias(inner)) {
        found->residual = other;
        found->ops.push_back(add);
        return found;
      }
    if (Operation *product = getProduct(sum, add))
      return Epilogue{product, {}, other, {add}};
  }
  return std::nullopt;
}
