//===- ShardUpdate.cpp - the optimizer works on a rank's shards -----------===//

#include "Sharding.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "tts/Dialect/Tts/IR/Fusion.h"
#include "tts/Dialect/Tts/IR/Names.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tts;
using namespace tts::partition;

void partition::makeShard(func::FuncOp program, BlockArgument argument,
                          int64_t ranks) {
  auto type = cast<RankedTensorType>(argument.getType());
  Builder builder(program.getContext());
  program.setArgAttr(argument.getArgNumber(), kShardOfAttr,
                     builder.getDenseI64ArrayAttr(type.getShape()));
  argument.setType(getShardType(type, ranks));
}

Parameters partition::findParameters(func::FuncOp update) {
  llvm::SmallPtrSet<Attribute, 32> trained;
  for (BlockArgument argument : update.getArguments())
    if (Attribute name =
            update.getArgAttr(argument.getArgNumber(), kGradientAttr);
        name && !argument.use_empty())
      trained.insert(name);
  Parameters parameters;
  for (BlockArgument argument : update.getArguments()) {
    DictionaryAttr attributes = update.getArgAttrDict(argument.getArgNumber());
    auto name = attributes ? attributes.getAs<StringAttr>(kParamAttr) : nullptr;
    if (name && trained.contains(name))
      parameters[name] = {argument.getType(), attributes, argument.getLoc()};
  }
  return parameters;
}

Parameters partition::findParameters(ArrayRef<func::FuncOp> programs) {
  Parameters parameters;
  auto visit = [&](StringRef role, auto take) {
    for (func::FuncOp program : programs)
      for (BlockArgument argument : program.getArguments())
        if (auto name = program.getArgAttrOfType<StringAttr>(
                argument.getArgNumber(), role))
          take(name, Parameter{argument.getType(),
                               program.getArgAttrDict(argument.getArgNumber()),
                               argument.getLoc()});
  };
  visit(kGradientAttr, [&](StringAttr name, Parameter gradient) {
    Builder builder(name.getContext());
    gradient.attributes =
        builder.getDictionaryAttr(builder.getNamedAttr(kParamAttr, name));
    parameters.insert({name, gradient});
  });
  visit(kParamAttr, [&](StringAttr name, Parameter parameter) {
    if (parameters.contains(name))
      parameters[name] = parameter;
  });
  return parameters;
}

void partition::refreshType(func::FuncOp program) {
  Block &body = program.getBody().front();
  program.setType(FunctionType::get(program.getContext(),
                                    body.getArgumentTypes(),
                                    body.getTerminator()->getOperandTypes()));
}

namespace {
class UpdateSharder {
public:
  UpdateSharder(func::FuncOp update, Sharding sharding)
      : update(update), sharding(sharding), body(update.getBody().front()) {}

  void run() {
    findSharded();
    takeStates();
    takeGradients();
    takeParameters();
    for (Operation *op : sharded)
      shard(op);
    sumOverRanks();
    gatherParameters();
    mlir::sortTopologically(&body);
    refreshType(update);
  }

private:
  using ByType = llvm::MapVector<Type, SmallVector<Value>>;

  bool is(Value value, StringRef role) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && update.getArgAttr(argument.getArgNumber(), role);
  }
  Location name(StringRef text) {
    return NameLoc::get(StringAttr::get(update.getContext(), text));
  }
  Type shardType(Value value) {
    return getShardType(cast<RankedTensorType>(value.getType()),
                        sharding.ranks);
  }

  /// Whether an op that reads a sharded value works on shards: what it makes of
  /// a parameter that is kept whole (a half copy) it makes of all of it.
  bool takesShards(Operation *op) {
    auto perTensor = dyn_cast<PerTensorOpInterface>(op);
    return perTensor && (sharding.level == Sharding::Parameters ||
                         perTensor.isSum() || isa<InPlaceOpInterface>(op));
  }

  /// What follows from gradients, op by op.
  void findSharded() {
    for (BlockArgument argument : update.getArguments())
      if (is(argument, kGradientAttr) && !argument.use_empty())
        gradients.push_back(argument);
    llvm::SmallPtrSet<Value, 32> values(gradients.begin(), gradients.end());
    for (Operation &op : body.without_terminator()) {
      auto isSharded = [&](Value value) { return values.contains(value); };
      if (!takesShards(&op) || !llvm::any_of(op.getOperands(), isSharded))
        continue;
      sharded.insert(&op);
      if (!cast<PerTensorOpInterface>(op).isSum())
        values.insert(op.result_begin(), op.result_end());
    }
  }

  /// Moments and averages, of which there are shards only.
  void takeStates() {
    for (BlockArgument argument : update.getArguments())
      for (StringRef role : {kMoment1Attr, kMoment2Attr, kEmaAttr})
        if (is(argument, role) && !argument.use_empty())
          makeShard(update, argument, sharding.ranks);
  }

  void takeGradients() {
    if (sharding.level >= Sharding::Gradients) {
      for (Value gradient : gradients)
        makeShard(update, cast<BlockArgument>(gradient), sharding.ranks);
      return;
    }
    ByType byType;
    for (Value gradient : gradients)
      byType[getElementTypeOrSelf(gradient.getType())].push_back(gradient);
    OpBuilder builder = OpBuilder::atBlockBegin(&body);
    for (auto &[type, values] : byType) {
      auto scatter = ReduceScatterOp::create(
          builder, name("gradients.reduce_scatter"), shardTypes(values), values,
          ValueRange(), sharding.ranks);
      for (auto [value, shard] : llvm::zip(values, scatter.getShards()))
        Value(value).replaceAllUsesExcept(shard, scatter);
    }
  }

  /// Parameters that are read beside their gradients.
  void takeParameters() {
    llvm::SetVector<Value> parameters;
    for (Operation *op : sharded)
      for (Value operand : op->getOperands())
        if (is(operand, kParamAttr))
          parameters.insert(operand);
    if (sharding.level == Sharding::Parameters) {
      for (Value parameter : parameters)
        makeShard(update, cast<BlockArgument>(parameter), sharding.ranks);
      return;
    }
    if (parameters.empty())
      return;
    OpBuilder builder = OpBuilder::atBlockBegin(&body);
    auto own = ShardOp::create(builder, name("parameters.shard"),
                               shardTypes(parameters.getArrayRef()),
                               parameters.getArrayRef(), sharding.ranks);
    for (auto [parameter, shard] : llvm::zip(parameters, own.getShards()))
      Value(parameter).replaceUsesWithIf(shard, [&](OpOperand &use) {
        return sharded.contains(use.getOwner());
      });
  }

  SmallVector<Type> shardTypes(ArrayRef<Value> values) {
    return llvm::map_to_vector(values, [&](Value v) { return shardType(v); });
  }

  /// Its operands are shards by now; so are its results, or it is one addend of
  /// a sum over the ranks.
  void shard(Operation *op) {
    if (cast<PerTensorOpInterface>(op).isSum()) {
      addends.insert(op->getResult(0));
      return;
    }
    for (OpResult result : op->getResults()) {
      wholes[result] = result.getType();
      result.setType(shardType(result));
    }
  }

  /// Sums of addends are addends; what else reads one reads the sum over ranks.
  void sumOverRanks() {
    for (Operation &op : llvm::make_early_inc_range(body)) {
      auto isAddend = [&](Value value) { return addends.contains(value); };
      if (sharded.contains(&op) || llvm::none_of(op.getOperands(), isAddend))
        continue;
      if (isa<AddOp>(op) && llvm::all_of(op.getOperands(), isAddend)) {
        addends.insert(op.getResult(0));
        continue;
      }
      OpBuilder builder(&op);
      for (OpOperand &operand : op.getOpOperands())
        if (isAddend(operand.get()))
          operand.set(AllReduceOp::create(builder, name("grad_norm.all_reduce"),
                                          operand.get().getType(),
                                          operand.get())
                          .getSums()
                          .front());
    }
  }

  /// Whether `use` wants all of a value of which there is a shard.
  bool isWhole(OpOperand &use) {
    if (use.getOwner() != body.getTerminator())
      return !sharded.contains(use.getOwner());
    return sharding.level != Sharding::Parameters &&
           update.getResultAttr(use.getOperandNumber(), kParamAttr);
  }

  void gatherParameters() {
    ByType byType;
    for (auto &[value, type] : wholes)
      if (llvm::any_of(value.getUses(),
                       [&](OpOperand &use) { return isWhole(use); }))
        byType[getElementTypeOrSelf(type)].push_back(value);
    OpBuilder builder(body.getTerminator());
    for (auto &[type, shards] : byType) {
      auto types = llvm::map_to_vector(
          shards, [&](Value shard) { return wholes[shard]; });
      auto gather = AllGatherOp::create(builder, name("parameters.all_gather"),
                                        types, shards, sharding.ranks);
      for (auto [shard, whole] : llvm::zip(shards, gather.getValues()))
        Value(shard).replaceUsesWithIf(whole, [&](OpOperand &use) {
          return use.getOwner() != gather && isWhole(use);
        });
    }
  }

  func::FuncOp update;
  Sharding sharding;
  Block &body;
  SmallVector<Value> gradients;
  llvm::SetVector<Operation *> sharded;
  llvm::SmallPtrSet<Value, 32> addends;
  llvm::MapVector<Value, Type> wholes; ///< types of which shards were made
};
} // namespace

void partition::shardUpdate(func::FuncOp update, Sharding sharding) {
  UpdateSharder(update, sharding).run();
}
