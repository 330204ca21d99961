//===- Backward.cpp - @backward and what it keeps of forward -------------===//
// The gradient ops are built reading @train's values directly. Then each value
// of @train that they read becomes an argument: parameters, inputs and draws as
// themselves, everything else as stash, unless it costs no reading of a tensor
// to make it again.

#include "ProgramBuilder.h"
#include "Programs.h"
#include "ReverseMode.h"
#include "mlir/IR/IRMapping.h"
#include "tts/Dialect/Tts/IR/Names.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace tts;

/// Constants and positions are made from nothing; another shape of the same
/// bytes and a broadcast are made from something smaller or equal.
static bool isMadeAgain(Operation *op) {
  return op->getNumOperands() == 0 || op->hasTrait<Alias>() ||
         isa<BroadcastOp>(op);
}

namespace {
class BackwardBuilder {
public:
  BackwardBuilder(TrainFunction &train, const Activity &activity)
      : train(train), activity(activity), program(train.func, "backward") {}

  FailureOr<func::FuncOp> build(SmallVectorImpl<StashEntry> &stash);

private:
  LogicalResult buildGradients();
  void collect(Value value);
  void nameStash();
  Value recreate(Value value, OpBuilder &builder);
  void resolve();

  bool isForeign(Value value) {
    return value.getParentBlock() == &train.getBody();
  }

  TrainFunction &train;
  const Activity &activity;
  ProgramBuilder program;
  IRMapping mapping;
  llvm::SetVector<Value> kept;
  SmallVector<StashEntry> entries;
};
} // namespace

/// Arguments (stash comes between these later), gradient ops, results.
LogicalResult BackwardBuilder::buildGradients() {
  ReverseMode reverse(activity, program.getBuilder());
  for (BlockArgument argument : train.func.getArguments())
    mapping.map(argument, program.addArgument(argument.getType(),
                                              train.getAttributes(argument),
                                              argument.getLoc()));
  SmallVector<Value> seeds;
  for (const NamedResult &loss : train.losses)
    seeds.push_back(program.addArgument(loss.value.getType(), kScalarAttr,
                                        ("loss_weight." + loss.name).str(),
                                        loss.value.getLoc()));
  for (BlockArgument parameter : train.trainable) {
    StringRef name = train.getParameterName(parameter);
    reverse.accumulateInto(parameter, name,
                           program.addArgument(parameter.getType(),
                                               kGradientAttr, name,
                                               parameter.getLoc()));
  }
  for (auto [loss, seed] : llvm::zip(train.losses, seeds))
    reverse.seed(loss.value, seed);
  if (failed(reverse.run(train.getBody())))
    return failure();
  for (BlockArgument parameter : train.trainable)
    program.addResult(reverse.getAccumulator(parameter), kGradientAttr,
                      train.getParameterName(parameter));
  return success();
}

/// Notes what must be stashed so that `value` can be read.
void BackwardBuilder::collect(Value value) {
  if (isa<BlockArgument>(value))
    return;
  Operation *op = value.getDefiningOp();
  if (!isMadeAgain(op)) {
    kept.insert(value);
    return;
  }
  for (Value operand : op->getOperands())
    collect(operand);
}

/// Stash arguments in the order in which forward makes them, after @train's.
void BackwardBuilder::nameStash() {
  SmallVector<Value> values(kept.begin(), kept.end());
  llvm::sort(values, [](Value a, Value b) {
    if (a.getDefiningOp() != b.getDefiningOp())
      return a.getDefiningOp()->isBeforeInBlock(b.getDefiningOp());
    return cast<OpResult>(a).getResultNumber() <
           cast<OpResult>(b).getResultNumber();
  });
  llvm::StringSet<> names;
  unsigned index = train.func.getNumArguments();
  for (Value value : values) {
    std::string stem = getStableName(value.getLoc());
    if (unsigned number = cast<OpResult>(value).getResultNumber())
      stem += "." + std::to_string(number);
    std::string name = stem;
    for (unsigned n = 1; !names.insert(name).second; ++n)
      name = stem + "." + std::to_string(n);
    mapping.map(value, program.insertArgument(
                           index++, value.getType(),
                           program.makeRole(kStashAttr, name), value.getLoc()));
    entries.push_back({name, value});
  }
}

/// `value` of @train in this program, made at the builder if it has to be.
Value BackwardBuilder::recreate(Value value, OpBuilder &builder) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    recreate(operand, builder);
  builder.clone(*op, mapping);
  return mapping.lookup(value);
}

/// Replaces every reference to a value of @train.
void BackwardBuilder::resolve() {
  auto forEachForeign = [&](llvm::function_ref<void(OpOperand &)> visit) {
    for (Operation &op : program.getBody())
      for (OpOperand &operand : op.getOpOperands())
        if (isForeign(operand.get()))
          visit(operand);
  };
  forEachForeign([&](OpOperand &operand) { collect(operand.get()); });
  nameStash();
  forEachForeign([&](OpOperand &operand) {
    OpBuilder builder(operand.getOwner());
    operand.set(recreate(operand.get(), builder));
  });
}

FailureOr<func::FuncOp>
BackwardBuilder::build(SmallVectorImpl<StashEntry> &stash) {
  if (failed(buildGradients()))
    return failure();
  program.addReturn();
  dropDeadOps(program.getBody());
  resolve();
  stash = std::move(entries);
  return program.finish();
}

FailureOr<func::FuncOp> tts::buildBackward(TrainFunction &train,
                                           const Activity &activity,
                                           SmallVectorImpl<StashEntry> &stash) {
  return BackwardBuilder(train, activity).build(stash);
}
