//===- MoveUpdate.cpp - parameters are updated while backward runs -------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "tts/Dialect/Tts/IR/Accumulation.h"
#include "tts/Dialect/Tts/IR/Names.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"
#include "tts/Dialect/Tts/IR/UpdateInBackward.h"
#include "tts/Transforms/Update/Passes.h"

using namespace mlir;
using namespace tts;

namespace tts {
#define GEN_PASS_DEF_TTSMOVEUPDATE
#include "tts/Transforms/Update/Passes.h.inc"
} // namespace tts

/// What update takes beside gradients.
static constexpr StringLiteral kTakenRoles[] = {
    kParamAttr, kMoment1Attr, kMoment2Attr, kEmaAttr, kNextAttr, kScalarAttr};

namespace {
class Mover {
public:
  Mover(func::FuncOp backward, func::FuncOp update)
      : backward(backward), update(update), body(backward.getBody().front()) {}

  void run() {
    dropAccumulators();
    mapArguments();
    for (Operation &op : update.getBody().front().without_terminator())
      move(&op);
    replaceResults();
  }

private:
  void dropAccumulators() {
    llvm::BitVector dropped(backward.getNumArguments());
    for (BlockArgument argument : backward.getArguments()) {
      if (!backward.getArgAttr(argument.getArgNumber(), kGradientAttr))
        continue;
      dropped.set(argument.getArgNumber());
      for (OpOperand &use : llvm::make_early_inc_range(argument.getUses()))
        startAccumulatorAnew(use);
    }
    (void)backward.eraseArguments(dropped);
  }

  using Key = std::pair<StringRef, Attribute>;

  /// The role of update's argument beside gradients, and the tensor's name.
  static Key keyOf(DictionaryAttr attributes) {
    for (StringRef role : kTakenRoles)
      if (Attribute name = attributes ? attributes.get(role) : Attribute())
        return {role, name};
    return {};
  }

  /// Backward's arguments and gradients for update's arguments, new arguments
  /// for what it has not.
  void mapArguments() {
    llvm::DenseMap<Attribute, Value> gradients;
    for (OpOperand &result : body.getTerminator()->getOpOperands())
      if (Attribute name =
              backward.getResultAttr(result.getOperandNumber(), kGradientAttr))
        gradients[name] = result.get();
    llvm::DenseMap<Key, BlockArgument> own;
    for (BlockArgument argument : backward.getArguments())
      own[keyOf(backward.getArgAttrDict(argument.getArgNumber()))] = argument;
    SmallVector<BlockArgument> missing;
    for (BlockArgument argument : update.getArguments()) {
      DictionaryAttr attributes =
          update.getArgAttrDict(argument.getArgNumber());
      if (Attribute name = attributes ? attributes.get(kGradientAttr) : nullptr)
        mapping.map(argument, gradients.lookup(name));
      else if (BlockArgument known = own.lookup(keyOf(attributes)))
        mapping.map(argument, known);
      else
        missing.push_back(argument);
    }
    addArguments(missing);
  }

  void addArguments(ArrayRef<BlockArgument> missing) {
    unsigned first = backward.getNumArguments();
    SmallVector<unsigned> places(missing.size(), first);
    SmallVector<Type> types;
    SmallVector<DictionaryAttr> attributes;
    SmallVector<Location> locs;
    for (BlockArgument argument : missing) {
      types.push_back(argument.getType());
      attributes.push_back(update.getArgAttrDict(argument.getArgNumber()));
      locs.push_back(argument.getLoc());
    }
    (void)backward.insertArguments(places, types, attributes, locs);
    for (auto [i, argument] : llvm::enumerate(missing))
      mapping.map(argument, backward.getArgument(first + i));
  }

  /// Behind the last of what `values` are made by; ops at one place keep their
  /// order.
  OpBuilder buildBehind(ArrayRef<Value> values) {
    Operation *last = nullptr;
    for (Value value : values) {
      Operation *producer = value.getDefiningOp();
      if (producer && (!last || last->isBeforeInBlock(producer)))
        last = producer;
    }
    Block::iterator place =
        last ? std::next(last->getIterator()) : body.begin();
    while (moved.contains(&*place))
      ++place;
    return OpBuilder(&body, place);
  }

  /// A sum that goes on from another parameter's would keep its gradient until
  /// that one's is final: it is made apart and added then.
  void move(Operation *op) {
    auto adding = dyn_cast<AccumulatingOpInterface>(op);
    Value sum = adding ? adding.getAccumulator() : Value();
    SmallVector<Value> reads;
    for (Value operand : op->getOperands())
      if (operand != sum)
        reads.push_back(mapping.lookup(operand));
    Operation *clone = buildBehind(reads).clone(*op, mapping);
    moved.insert(clone);
    if (auto clip = dyn_cast<ClipFactorOp>(op))
      mapping.map(clip.getFactor(), makeOne(clip));
    if (!sum)
      return;
    clone->eraseOperand(clone->getNumOperands() - 1);
    Value before = mapping.lookup(sum), own = clone->getResult(0);
    OpBuilder builder = buildBehind({before, own});
    auto total = AddOp::create(builder, op->getLoc(), before, own);
    moved.insert(total);
    mapping.map(op->getResult(0), total.getResult());
  }

  /// What every update op scales its gradient by.
  Value makeOne(ClipFactorOp clip) {
    OpBuilder builder(&body, body.begin());
    auto one =
        FullOp::create(builder, clip.getLoc(), clip.getFactor().getType(),
                       builder.getF64FloatAttr(1));
    moved.insert(one);
    return one;
  }

  void replaceResults() {
    Operation *given = body.getTerminator();
    llvm::BitVector dropped(backward.getNumResults());
    for (unsigned i = 0; i < backward.getNumResults(); ++i)
      if (backward.getResultAttr(i, kGradientAttr))
        dropped.set(i);
    given->eraseOperands(dropped);
    (void)backward.eraseResults(dropped);
    SmallVector<Value> values;
    SmallVector<DictionaryAttr> attributes;
    for (OpOperand &result :
         update.getBody().front().getTerminator()->getOpOperands()) {
      values.push_back(mapping.lookup(result.get()));
      attributes.push_back(update.getResultAttrDict(result.getOperandNumber()));
    }
    unsigned first = backward.getNumResults();
    given->insertOperands(first, values);
    (void)backward.insertResults(SmallVector<unsigned>(values.size(), first),
                                 ValueRange(values).getTypes(), attributes);
  }

  func::FuncOp backward, update;
  Block &body;
  IRMapping mapping; ///< update's values to backward's
  llvm::SmallPtrSet<Operation *, 32> moved;
};

struct MoveUpdate : tts::impl::TtsMoveUpdateBase<MoveUpdate> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (!module->hasAttr(kUpdateInBackwardAttr))
      return;
    auto plan = module->getAttrOfType<PlanAttr>(kPlanAttr);
    if (!plan) {
      module.emitError("tts.update_in_backward needs tts.plan beside it");
      return signalPassFailure();
    }
    func::FuncOp zero = find("zero"), update = find("update");
    func::FuncOp backward = find("backward");
    if (failed(checkPlan(plan)) || (update && failed(checkUpdate(update))))
      return signalPassFailure();
    if (!backward || !update)
      return;
    Mover(backward, update).run();
    update.erase();
    if (zero)
      zero.erase();
  }

  func::FuncOp find(StringRef kind) {
    for (auto program : getOperation().getOps<func::FuncOp>())
      if (auto own = program->getAttrOfType<StringAttr>(kProgramAttr);
          own && own == kind)
        return program;
    return {};
  }

  LogicalResult checkPlan(PlanAttr plan) {
    ModuleOp module = getOperation();
    ArrayRef<int64_t> microBatches = plan.getMicroBatches();
    auto batch = module->getAttrOfType<IntegerAttr>(kBatchAttr);
    if (microBatches.size() != 1)
      return module.emitError("tts.update_in_backward: an update has "
                              "micro-batches of ")
             << microBatches.size() << " buckets; plan for one bucket";
    if (batch && microBatches.front() < batch.getInt())
      return module.emitError("tts.update_in_backward: ")
             << batch.getInt() << " utterances are several micro-batches of "
             << microBatches.front() << "; plan for one";
    return success();
  }

  LogicalResult checkUpdate(func::FuncOp update) {
    for (auto clip : update.getOps<ClipFactorOp>())
      if (clip.getMaxNorm() || clip.getUnscale())
        return update.emitError("tts.update_in_backward: ")
               << (clip.getMaxNorm()
                       ? "gradients are clipped by their global norm"
                       : "gradients that overflow have the update tried again")
               << ", which is known when all of them are; plan anew";
    return success();
  }
};
} // namespace
