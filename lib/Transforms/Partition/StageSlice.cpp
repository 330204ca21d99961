//===- StageSlice.cpp - a stage's part of a program, made on demand -------===//

#include "StageSlice.h"
#include "tts/Dialect/Tts/IR/Names.h"

using namespace mlir;
using namespace tts;
using namespace tts::partition;

StageSlice::StageSlice(func::FuncOp whole)
    : whole(whole), builder(whole.getContext()) {
  part = func::FuncOp::create(whole.getLoc(), whole.getName(),
                              builder.getFunctionType({}, {}));
  part->setDiscardableAttrs(whole->getDiscardableAttrDictionary());
  builder.setInsertionPointToStart(part.addEntryBlock());
}

Value StageSlice::addArgument(Type type, DictionaryAttr attributes,
                              Location loc) {
  argumentRoles.push_back(attributes ? attributes
                                     : builder.getDictionaryAttr({}));
  return part.getBody().addArgument(type, loc);
}

void StageSlice::addResult(Value value, DictionaryAttr attributes) {
  results.push_back(value);
  resultRoles.push_back(attributes ? attributes
                                   : builder.getDictionaryAttr({}));
}

Value StageSlice::get(Value value) {
  if (Value known = map.lookupOrNull(value))
    return known;
  if (Value other = import(value)) {
    map.map(value, other);
    return other;
  }
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Value own = addArgument(value.getType(),
                            whole.getArgAttrDict(argument.getArgNumber()),
                            argument.getLoc());
    map.map(value, own);
    return own;
  }
  copy(value.getDefiningOp());
  return map.lookup(value);
}

Operation *StageSlice::copy(Operation *op) {
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(get(operand));
  Operation *own = builder.clone(*op);
  own->setOperands(operands);
  for (auto [old, result] : llvm::zip(op->getResults(), own->getResults()))
    map.map(old, result);
  return own;
}

static Location locate(Location of, StringRef what) {
  return NameLoc::get(
      StringAttr::get(of.getContext(), getStableName(of) + what), of);
}

Value StageSlice::receive(Type type, int stage, int64_t channel, Location loc) {
  lastReceived =
      ReceiveOp::create(builder, locate(loc, ".receive"), type, stage, channel);
  return lastReceived;
}

void StageSlice::send(Value value, int stage, int64_t channel) {
  SendOp::create(builder, locate(value.getLoc(), ".send"), value, stage,
                 channel);
}

void StageSlice::finish() {
  bool isEmpty = results.empty() && part.getBody().front().empty();
  if (!isEmpty) {
    func::ReturnOp::create(builder, whole.getLoc(), results);
    part.setFunctionType(builder.getFunctionType(
        part.getBody().getArgumentTypes(), ValueRange(results).getTypes()));
    part.setAllArgAttrs(argumentRoles);
    part.setAllResultAttrs(resultRoles);
    whole->getBlock()->getOperations().insert(whole->getIterator(), part);
  } else {
    part.erase();
  }
  whole.erase();
}
