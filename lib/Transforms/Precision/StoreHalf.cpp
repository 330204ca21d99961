//===- StoreHalf.cpp - f32 activations kept in half until backward --------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tts/Analysis/BucketPrograms.h"
#include "tts/Analysis/OpNames.h"
#include "tts/Analysis/Recomputable.h"
#include "tts/Analysis/Storable.h"
#include "tts/Dialect/Tts/IR/Names.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"
#include "tts/Transforms/Precision/Passes.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace tts;

namespace tts {
#define GEN_PASS_DEF_TTSSTOREHALF
#include "tts/Transforms/Precision/Passes.h.inc"
} // namespace tts

namespace {
Type withElement(Value value, Type element) {
  return cast<RankedTensorType>(value.getType()).clone(element);
}

/// "relu.half" for what is made of "relu".
Location nameBehind(Value value, StringRef suffix) {
  std::string name = getStableName(value.getLoc()) + suffix.str();
  return NameLoc::get(StringAttr::get(value.getContext(), name),
                      value.getLoc());
}

/// Rewrites one pair of programs, value by value.
class HalfStash {
public:
  explicit HalfStash(BucketPrograms programs)
      : forward(programs.forward), backward(programs.backward) {
    // A contraction's result is in memory anyway: waiting for it breaks no
    // fusion group.
    Value last;
    for (Operation &op : backward.getBody().front()) {
      anchors[&op] = last;
      if (isa<CostOpInterface>(op))
        last = op.getResult(0);
    }
    for (unsigned i = 0; i < forward.getNumResults(); ++i)
      if (auto name = forward.getResultAttrOfType<StringAttr>(i, kStashAttr))
        names.insert(name.getValue());
  }

  /// Whether backward reads the value itself.
  bool isStashed(Value value) { return findStash(value).has_value(); }

  void store(OpResult value, FloatType half) {
    std::optional<unsigned> index = findStash(value);
    OpBuilder builder(value.getOwner());
    builder.setInsertionPointAfter(value.getOwner());
    Value rounded = CastOp::create(builder, nameBehind(value, ".half"),
                                   withElement(value, half), Value(value));
    if (!index)
      return addStash(value, rounded);
    results()->setOperand(*index, rounded);
    BlockArgument argument =
        findArgument(forward.getResultAttr(*index, kStashAttr));
    readers.clear();
    wides.clear();
    collectReaders(argument, {});
    for (const Reader &reader : readers)
      widen(reader, argument, half);
    argument.setType(rounded.getType());
    // Views of what was f32 have lost their readers.
    for (Operation *view : llvm::reverse(views))
      view->erase();
    views.clear();
    setTypes();
  }

private:
  /// Reads a stash, perhaps through views.
  struct Reader {
    OpOperand *use;
    SmallVector<Operation *, 2> views; ///< from the stash on
  };

  Operation *results() { return forward.getBody().front().getTerminator(); }

  std::optional<unsigned> findStash(Value value) {
    for (OpOperand &result : results()->getOpOperands())
      if (result.get() == value &&
          forward.getResultAttr(result.getOperandNumber(), kStashAttr))
        return result.getOperandNumber();
    return std::nullopt;
  }

  BlockArgument findArgument(Attribute stash) {
    for (BlockArgument argument : backward.getArguments())
      if (backward.getArgAttr(argument.getArgNumber(), kStashAttr) == stash)
        return argument;
    return {};
  }

  void addStash(OpResult value, Value rounded) {
    std::string stem = getStableName(value.getLoc()), name = stem;
    for (unsigned n = 1; !names.insert(name).second; ++n)
      name = stem + "." + std::to_string(n);
    Builder b(value.getContext());
    DictionaryAttr role =
        b.getDictionaryAttr(b.getNamedAttr(kStashAttr, b.getStringAttr(name)));
    results()->insertOperands(results()->getNumOperands(), rounded);
    (void)forward.insertResult(forward.getNumResults(), rounded.getType(),
                               role);
    (void)backward.insertArgument(backward.getNumArguments(), rounded.getType(),
                                  role, value.getLoc());
  }

  void collectReaders(Value value, ArrayRef<Operation *> through) {
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      SmallVector<Operation *, 2> path(through);
      if (user->getNumResults() != 1 || !isFreeToRecompute(user)) {
        readers.push_back({&use, path});
        continue;
      }
      views.push_back(user);
      path.push_back(user);
      collectReaders(user->getResult(0), path);
    }
  }

  /// Another way to index is chosen before the numbers are f32 again, so that
  /// the cast goes into the reader's kernel.
  void widen(const Reader &reader, Value stash, FloatType half) {
    Operation *op = reader.use->getOwner();
    Value &wide = wides[{op, reader.use->get()}];
    if (!wide) {
      OpBuilder builder(op);
      Value value = stash;
      for (Operation *view : reader.views) {
        Operation *narrow = builder.clone(*view);
        narrow->setOperand(0, value);
        narrow->getResult(0).setType(withElement(narrow->getResult(0), half));
        value = narrow->getResult(0);
      }
      Value whole = reader.use->get();
      if (Value anchor = anchors.lookup(op)) {
        value =
            RecomputeAfterOp::create(builder, whole.getLoc(), value, anchor);
        value.setType(withElement(whole, half));
      }
      wide = CastOp::create(builder, nameBehind(whole, ".full"),
                            whole.getType(), value);
    }
    reader.use->set(wide);
  }

  void setTypes() {
    for (func::FuncOp program : {forward, backward}) {
      Block &body = program.getBody().front();
      program.setType(
          FunctionType::get(program.getContext(), body.getArgumentTypes(),
                            body.getTerminator()->getOperandTypes()));
    }
  }

  func::FuncOp forward, backward;
  /// The last contraction before each op of backward.
  llvm::DenseMap<Operation *, Value> anchors;
  llvm::StringSet<> names;
  SmallVector<Reader> readers;
  SmallVector<Operation *> views;
  /// One for all operands of an op that read the same.
  llvm::DenseMap<std::pair<Operation *, Value>, Value> wides;
};

struct StoreHalf : tts::impl::TtsStoreHalfBase<StoreHalf> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto plan = module->getAttrOfType<PlanAttr>(kPlanAttr);
    if (!plan) {
      module.emitError("store-half needs tts.plan; run tts-plan first");
      return signalPassFailure();
    }
    if (!plan.getStore())
      return;
    for (auto [bucket, programs] : getBucketPrograms(module))
      if (failed(store(programs, plan, bucket)))
        return signalPassFailure();
  }

  LogicalResult store(BucketPrograms programs, PlanAttr plan, int64_t bucket) {
    ArrayRef<Attribute> items = plan.getStore(bucket);
    if (items.empty())
      return success();
    // Named before casts come among them.
    OpNames ops(programs.forward.getBody().front());
    SmallVector<std::pair<OpResult, FloatType>> values;
    HalfStash stash(programs);
    for (auto item : llvm::map_range(items, llvm::CastTo<StoreAttr>)) {
      Operation *op = ops.lookup(item.getOp());
      if (!op || item.getResult() >= op->getNumResults())
        return programs.forward.emitError()
               << "has no value " << item
               << ", which tts.plan speaks of; plan this model anew";
      OpResult value = op->getResult(item.getResult());
      if (!canStoreHalf(value))
        return op->emitOpError("result #")
               << item.getResult()
               << " cannot be kept in half, as tts.plan has it: only an f32 "
                  "activation can";
      if (!stash.isStashed(value) && plan.getRecompute(bucket).empty())
        return op->emitOpError("result #")
               << item.getResult()
               << " is kept in half by tts.plan, but backward does not read it";
      if (llvm::is_contained(llvm::make_first_range(values), value))
        return op->emitOpError("result #")
               << item.getResult() << " is kept in half twice by tts.plan";
      values.push_back({value, item.getType()});
    }
    for (auto [value, type] : values)
      stash.store(value, type);
    return success();
  }
};
} // namespace
