//===- ZeroPadding.cpp - zeros followed through ops that keep them -------===//

#include "ZeroPadding.h"
#include "tts/Dialect/Tts/IR/Names.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"

using namespace mlir;
using namespace tts;

ZeroPadding::ZeroPadding(func::FuncOp func) : func(func) {
  for (BlockArgument argument : func.getArguments())
    if (auto time = func.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                      kLengthsAttr))
      lengths[time.getValue()] = argument;
  // Lengths may also be computed: frames that predicted durations add up to.
  func.walk([&](Operation *op) {
    if (auto time = op->getAttrOfType<StringAttr>(kLengthsAttr))
      lengths.try_emplace(time.getValue(), op->getResult(0));
  });
}

StringRef ZeroPadding::getTimeName(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || type.getRank() < 2)
    return {};
  auto dims = dyn_cast_or_null<DimsAttr>(type.getEncoding());
  if (!dims || !type.isDynamicDim(1))
    return {};
  return dims.getNames()[1].getValue();
}

/// Operands of rank 2 and more are the ones that could carry time.
static SmallVector<Value> getTimedOperands(Operation *op) {
  return llvm::filter_to_vector(op->getOperands(), [](Value operand) {
    auto type = dyn_cast<RankedTensorType>(operand.getType());
    return type && type.getRank() >= 2;
  });
}

Value ZeroPadding::getKeptOperand(Operation *op) {
  if (!op || !op->hasTrait<KeepsPaddingZero>() || op->getNumResults() != 1)
    return {};
  SmallVector<Value> timed = getTimedOperands(op);
  if (timed.size() != 1 || timed[0].getType() != op->getResult(0).getType())
    return {};
  return timed[0];
}

bool ZeroPadding::isZero(Value value) {
  auto found = known.find(value);
  if (found != known.end())
    return found->second;
  bool zero = compute(value);
  known[value] = zero;
  return zero;
}

bool ZeroPadding::compute(Value value) {
  StringRef time = getTimeName(value);
  if (time.empty())
    return false;
  // The loader writes zeros beyond every utterance's length.
  if (auto argument = dyn_cast<BlockArgument>(value))
    return !!func.getArgAttr(argument.getArgNumber(), kInputAttr);
  Operation *op = value.getDefiningOp();
  if (auto mask = dyn_cast<MaskOp>(op))
    if (mask.getLengths() == getLengths(time))
      return true;
  if (!op->hasTrait<KeepsPaddingZero>())
    return false;
  SmallVector<Value> timed = getTimedOperands(op);
  return !timed.empty() && llvm::all_of(timed, [&](Value operand) {
    return getTimeName(operand) == time && isZero(operand);
  });
}
