//===- StageUpdate.cpp - the optimizer of one stage -----------------------===//

#include "StageUpdate.h"
#include "StageSlice.h"
#include "tts/Dialect/Tts/IR/Accumulation.h"
#include "tts/Dialect/Tts/IR/Fusion.h"
#include "tts/Dialect/Tts/IR/Names.h"

using namespace mlir;
using namespace tts;
using namespace tts::partition;

namespace {

class UpdateCutter {
public:
  UpdateCutter(func::FuncOp update, const StageAssignment &stages, int stage,
               int64_t replicas, int64_t channel)
      : update(update), body(update.getBody().front()), stages(stages),
        stage(stage), replicas(replicas), slice(update) {
    numberChannels(channel);
    findAddends();
  }

  void run() {
    slice.import = [&](Value value) { return import(value); };
    takeGradients();
    for (OpOperand &returned : body.getTerminator()->getOpOperands())
      returnResult(returned);
    slice.finish();
  }

private:
  struct Shared {
    int64_t gradient, value;
  };

  StringAttr roleOf(DictionaryAttr attributes, StringRef role) {
    return attributes ? attributes.getAs<StringAttr>(role) : nullptr;
  }
  StringAttr resultRole(unsigned number, StringRef role) {
    return update.getResultAttrOfType<StringAttr>(number, role);
  }
  StringAttr argumentRole(Value value, StringRef role) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument
               ? roleOf(update.getArgAttrDict(argument.getArgNumber()), role)
               : nullptr;
  }

  /// Two for each stage beside the owner that reads a parameter.
  void numberChannels(int64_t next) {
    for (OpOperand &returned : body.getTerminator()->getOpOperands()) {
      StringAttr name = resultRole(returned.getOperandNumber(), kParamAttr);
      if (!name)
        continue;
      newValues[returned.get()] = name;
      for (int reader : stages.stagesOf(name))
        if (reader != stages.ownerOf(name)) {
          shared[{name, reader}] = {next, next + 1};
          next += 2;
        }
    }
  }

  /// Sums over the elements of one gradient, and sums of those.
  void findAddends() {
    for (Operation &op : body.without_terminator()) {
      auto perTensor = dyn_cast<PerTensorOpInterface>(op);
      bool isSum = perTensor && perTensor.isSum() && gradientOf(&op);
      bool isSumOfSums =
          isa<AddOp>(op) && llvm::all_of(op.getOperands(), [&](Value value) {
            return addends.contains(value);
          });
      if (isSum || isSumOfSums)
        addends.insert(op.getResult(0));
    }
  }

  StringAttr gradientOf(Operation *op) {
    for (Value operand : op->getOperands()) {
      if (StringAttr name = argumentRole(operand, kGradientAttr))
        return name;
      if (Operation *maker = operand.getDefiningOp())
        if (StringAttr name = gradientOf(maker))
          return name;
    }
    return {};
  }

  /// Those of the stage become sums over replicas, those of its own parameters
  /// over stages.
  void takeGradients() {
    llvm::MapVector<Type, SmallVector<BlockArgument>> byType;
    for (BlockArgument argument : update.getArguments())
      if (StringAttr name = argumentRole(argument, kGradientAttr);
          name && !argument.use_empty() &&
          stages.stagesOf(name).contains(stage))
        byType[getElementTypeOrSelf(argument.getType())].push_back(argument);
    OpBuilder &builder = slice.getBuilder();
    for (auto &[type, arguments] : byType) {
      SmallVector<Value> values = llvm::map_to_vector(
          arguments, [&](Value argument) { return slice.get(argument); });
      if (replicas > 1) {
        auto sums = AllReduceOp::create(builder, name("gradients.all_reduce"),
                                        TypeRange(values), values,
                                        builder.getStringAttr("replicas"));
        for (auto [argument, sum] : llvm::zip(arguments, sums.getSums()))
          slice.set(argument, sum);
      }
      for (BlockArgument argument : arguments)
        exchange(argument);
    }
  }

  void exchange(BlockArgument argument) {
    StringAttr name = argumentRole(argument, kGradientAttr);
    int owner = stages.ownerOf(name);
    if (owner != stage)
      return slice.send(slice.get(argument), owner,
                        shared.at({name, stage}).gradient);
    for (int reader : stages.stagesOf(name)) {
      if (reader == stage)
        continue;
      Value other =
          slice.receive(argument.getType(), reader,
                        shared.at({name, reader}).gradient, argument.getLoc());
      slice.set(argument,
                AccumulateOp::create(slice.getBuilder(), other.getLoc(),
                                     slice.get(argument), other));
    }
  }

  /// What other stages compute: new values of their parameters, the addends of
  /// their gradients.
  Value import(Value value) {
    if (addends.contains(value)) // read by something else: the whole sum
      return sumOverStages(value);
    StringAttr name = newValues.lookup(value);
    if (!name || stages.ownerOf(name) == stage)
      return {};
    return slice.receive(value.getType(), stages.ownerOf(name),
                         shared.at({name, stage}).value, value.getLoc());
  }

  Value sumOverStages(Value value) {
    OpBuilder &builder = slice.getBuilder();
    Value own = addUp(value);
    if (!own)
      own = FullOp::create(builder, name("grad_norm.none"), value.getType(),
                           builder.getF64FloatAttr(0));
    return AllReduceOp::create(builder, name("grad_norm.all_reduce"),
                               value.getType(), own,
                               builder.getStringAttr("stages"))
        .getSums()
        .front();
  }

  /// Of the stage's own parameters; null: none.
  Value addUp(Value value) {
    Operation *op = value.getDefiningOp();
    if (!isa<AddOp>(op))
      return addGradient(op);
    Value a = addUp(op->getOperand(0)), b = addUp(op->getOperand(1));
    if (!a || !b)
      return a ? a : b;
    return AddOp::create(slice.getBuilder(), op->getLoc(), a, b);
  }

  /// The op sums one gradient, perhaps on top of others.
  Value addGradient(Operation *op) {
    OpOperand *others = nullptr;
    for (OpOperand &operand : op->getOpOperands())
      if (addends.contains(operand.get()))
        others = &operand;
    Value before = others ? addUp(others->get()) : Value();
    if (stages.ownerOf(gradientOf(op)) != stage)
      return before;
    if (!others)
      return slice.copy(op)->getResult(0);
    // Copied with nothing else in the place of the others' sum.
    Value gradient = slice.get(op->getOperand(0));
    Operation *own = slice.getBuilder().clone(*op);
    own->setOperand(0, gradient);
    OpOperand &sum = own->getOpOperand(others->getOperandNumber());
    if (before)
      sum.set(before);
    else
      startAccumulatorAnew(sum);
    return own->getResult(0);
  }

  void returnResult(OpOperand &returned) {
    unsigned number = returned.getOperandNumber();
    for (StringRef role :
         {kParamAttr, kHalfCopyAttr, kMoment1Attr, kMoment2Attr, kEmaAttr}) {
      StringAttr name = resultRole(number, role);
      if (!name)
        continue;
      bool isRead = role == kParamAttr || role == kHalfCopyAttr;
      if (isRead ? !stages.stagesOf(name).contains(stage)
                 : stages.ownerOf(name) != stage)
        return;
    }
    Value value = slice.get(returned.get());
    slice.addResult(value, update.getResultAttrDict(number));
    StringAttr name = resultRole(number, kParamAttr);
    if (!name || stages.ownerOf(name) != stage)
      return;
    for (int reader : stages.stagesOf(name))
      if (reader != stage)
        slice.send(value, reader, shared.at({name, reader}).value);
  }

  Location name(StringRef text) {
    return NameLoc::get(StringAttr::get(update.getContext(), text));
  }

  func::FuncOp update;
  Block &body;
  const StageAssignment &stages;
  int stage;
  int64_t replicas;
  StageSlice slice;
  llvm::DenseMap<Value, StringAttr> newValues;
  llvm::DenseMap<std::pair<StringAttr, int>, Shared> shared;
  llvm::SmallPtrSet<Value, 32> addends;
};

} // namespace

void partition::cutUpdate(func::FuncOp update, const StageAssignment &stages,
                          int stage, int64_t replicas, int64_t channel) {
  UpdateCutter(update, stages, stage, replicas, channel).run();
}
