//===- TrainFunction.cpp - reading and checking @train -------------------===//
// Every message here is about what the user wrote, at the place of it.

#include "TrainFunction.h"
#include "mlir/IR/BuiltinTypes.h"
#include "tts/Dialect/Tts/IR/Names.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace tts;

DictionaryAttr TrainFunction::getAttributes(BlockArgument argument) {
  DictionaryAttr attributes = func.getArgAttrDict(argument.getArgNumber());
  return attributes ? attributes : DictionaryAttr::get(func.getContext());
}

StringRef TrainFunction::getParameterName(BlockArgument argument) {
  auto name = getAttributes(argument).getAs<StringAttr>(kParamAttr);
  return name ? name.getValue() : StringRef();
}

static FailureOr<func::FuncOp> findTrain(ModuleOp module) {
  func::FuncOp train;
  for (auto func : module.getOps<func::FuncOp>()) {
    auto program = func->getAttrOfType<StringAttr>(kProgramAttr);
    if (!program || program.getValue() != "train")
      continue;
    if (train)
      return emitError(func.getLoc()) << "a second training function beside @"
                                      << train.getName() << "; keep one";
    train = func;
  }
  if (!train)
    return emitError(module.getLoc())
           << "no training function; give one function of the module the "
              "attribute tts.program = \"train\"";
  if (!train.getBody().hasOneBlock())
    return emitError(train.getLoc())
           << "@" << train.getName()
           << " has no body or several blocks; write it as one list of ops";
  return train;
}

/// Arguments: each has a role, no two parameters a name.
static LogicalResult readArguments(TrainFunction &train) {
  llvm::StringSet<> names;
  for (BlockArgument argument : train.func.getArguments()) {
    DictionaryAttr attributes = train.getAttributes(argument);
    if (!attributes.contains(kParamAttr)) {
      if (attributes.contains(kInputAttr) || attributes.contains(kScalarAttr))
        continue;
      return emitError(argument.getLoc())
             << "argument #" << argument.getArgNumber()
             << " has no role; give it tts.param, tts.input or tts.scalar";
    }
    StringRef name = train.getParameterName(argument);
    if (name.empty())
      return emitError(argument.getLoc())
             << "parameter #" << argument.getArgNumber()
             << " has an empty name; name it in tts.param";
    if (!names.insert(name).second)
      return emitError(argument.getLoc())
             << "parameter \"" << name
             << "\" is listed twice; pass it once and use it twice";
    if (attributes.contains(kStateAttr) && attributes.contains(kFrozenAttr))
      return emitError(argument.getLoc())
             << "parameter \"" << name
             << "\" is frozen and a state; drop tts.frozen or tts.state";
    if (attributes.contains(kStateAttr))
      train.states.push_back({argument, {}});
    else if (!attributes.contains(kFrozenAttr))
      train.trainable.push_back(argument);
  }
  return success();
}

static LogicalResult readResults(TrainFunction &train) {
  Operation *terminator = train.getBody().getTerminator();
  for (OpOperand &operand : terminator->getOpOperands()) {
    unsigned index = operand.getOperandNumber();
    DictionaryAttr attributes = train.func.getResultAttrDict(index);
    auto take = [&](StringRef role, SmallVector<NamedResult> &into) {
      auto name =
          attributes ? attributes.getAs<StringAttr>(role) : StringAttr();
      if (name && !name.getValue().empty())
        into.push_back({name.getValue(), operand.get(), attributes});
      return name && !name.getValue().empty();
    };
    if (!take(kLossAttr, train.losses) &&
        !take(kDenominatorAttr, train.denominators) &&
        !take(kOutputAttr, train.outputs))
      return emitError(train.func.getLoc())
             << "result #" << index
             << " has no role; give it tts.loss, tts.denominator or tts.output";
  }
  return success();
}

/// Each of `from` has exactly one partner in `to`.
static LogicalResult checkPairs(func::FuncOp func, ArrayRef<NamedResult> from,
                                StringRef kind, ArrayRef<NamedResult> to,
                                StringRef partner, StringRef role) {
  llvm::StringSet<> seen;
  for (const NamedResult &result : from) {
    if (!seen.insert(result.name).second)
      return emitError(func.getLoc())
             << kind << " \"" << result.name
             << "\" is returned twice; names are unique";
    if (llvm::none_of(
            to, [&](const NamedResult &r) { return r.name == result.name; }))
      return emitError(func.getLoc())
             << kind << " \"" << result.name << "\" has no " << partner
             << "; return one with " << role << " = \"" << result.name << "\"";
  }
  return success();
}

FailureOr<TrainFunction> TrainFunction::read(ModuleOp module) {
  FailureOr<func::FuncOp> func = findTrain(module);
  if (failed(func))
    return failure();
  TrainFunction train;
  train.func = *func;
  if (failed(readArguments(train)) || failed(readResults(train)))
    return failure();
  if (train.losses.empty())
    return emitError(train.func.getLoc())
           << "@" << train.func.getName()
           << " has no loss; return one with tts.loss = \"<name>\"";
  for (const NamedResult &loss : train.losses) {
    auto type = dyn_cast<RankedTensorType>(loss.value.getType());
    if (!type || type.getRank() != 0)
      return emitError(train.func.getLoc())
             << "loss \"" << loss.name << "\" is a " << loss.value.getType()
             << ", not a single number; return the sum over its elements";
  }
  if (failed(checkPairs(train.func, train.losses, "loss", train.denominators,
                        "denominator", kDenominatorAttr)) ||
      failed(checkPairs(train.func, train.denominators, "denominator",
                        train.losses, "loss", kLossAttr)))
    return failure();
  return train;
}
