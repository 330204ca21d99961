//===- Rematerialize.cpp - computing forward values again in backward ----===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "tts/Analysis/BucketPrograms.h"
#include "tts/Analysis/OpNames.h"
#include "tts/Analysis/Recomputable.h"
#include "tts/Dialect/Tts/IR/Names.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"
#include "tts/Transforms/Remat/Passes.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace tts;

namespace tts {
#define GEN_PASS_DEF_TTSREMATERIALIZE
#include "tts/Transforms/Remat/Passes.h.inc"
} // namespace tts

/// Arguments that forward and backward both may take.
static constexpr StringLiteral kSharedRoles[] = {kParamAttr, kHalfCopyAttr,
                                                 kInputAttr, kScalarAttr};

namespace {
/// Ops of forward, each to be cloned in front of an op of backward; in order.
using Clones = SmallVector<std::pair<Operation *, Operation *>>;

class Rematerializer {
public:
  /// `storesHalf`: casts among what forward keeps are those of tts-store-half.
  Rematerializer(BucketPrograms programs, const Clones &clones, bool storesHalf)
      : forward(programs.forward), backward(programs.backward), clones(clones),
        storesHalf(storesHalf) {}

  void run() {
    mapArguments();
    readStash();
    const auto *next = clones.begin();
    for (Operation &op :
         llvm::make_early_inc_range(backward.getBody().front())) {
      madeHere.clear();
      widened.clear();
      for (; next != clones.end() && next->second == &op; ++next)
        clone(next->first, &op);
      if (!isFreeToRecompute(&op)) // else made again at its readers
        for (OpOperand &operand : op.getOpOperands())
          operand.set(localize(operand.get(), &op));
      // A contraction's result is always in memory, so that waiting for it
      // breaks no fusion group.
      if (isa<CostOpInterface>(op))
        anchor = op.getResult(0);
    }
    dropDeadOps(backward);
    dropUnreadStash();
    dropDeadOps(forward);
  }

private:
  /// What both programs are given: backward's argument for forward's.
  void mapArguments() {
    llvm::DenseMap<Attribute, BlockArgument> byRole;
    for (BlockArgument argument : backward.getArguments())
      for (StringRef role : kSharedRoles)
        if (Attribute name = backward.getArgAttr(argument.getArgNumber(), role))
          byRole[roleKey(role, name)] = argument;
    for (BlockArgument argument : forward.getArguments())
      for (StringRef role : kSharedRoles)
        if (Attribute name = forward.getArgAttr(argument.getArgNumber(), role))
          if (BlockArgument same = byRole.lookup(roleKey(role, name)))
            mapping.map(argument, same);
  }

  static Attribute roleKey(StringRef role, Attribute name) {
    return ArrayAttr::get(name.getContext(),
                          {StringAttr::get(name.getContext(), role), name});
  }

  void readStash() {
    llvm::DenseMap<Attribute, Value> made;
    Operation *results = forward.getBody().front().getTerminator();
    for (unsigned i = 0; i < forward.getNumResults(); ++i)
      if (auto name = forward.getResultAttrOfType<StringAttr>(i, kStashAttr)) {
        made[name] = results->getOperand(i);
        names.insert(name.getValue());
      }
    for (BlockArgument argument : backward.getArguments())
      if (auto name = backward.getArgAttrOfType<StringAttr>(
              argument.getArgNumber(), kStashAttr)) {
        Value source = made.lookup(name);
        stashed[argument] = source;
        kept[source] = argument;
        if (auto cast = source.getDefiningOp<CastOp>(); cast && storesHalf)
          halves[cast.getX()] = cast;
      }
  }

  /// What readers in front of `reader` take for `source` of forward.
  Value find(Value source, Operation *reader) {
    if (Value known = mapping.lookupOrNull(source))
      return known;
    if (Value half = halves.lookup(source))
      return widen(source, half, reader);
    Operation *op = source.getDefiningOp();
    if (!op || !isFreeToRecompute(op))
      return keep(source);
    // On the spot, from what its operand is there.
    IRMapping local;
    for (Value operand : op->getOperands())
      local.map(operand, find(operand, reader));
    return OpBuilder(reader)
        .clone(*op, local)
        ->getResult(cast<OpResult>(source).getResultNumber());
  }

  /// What is kept in half for `source`, in f32 again for the clones in front of
  /// `reader`.
  Value widen(Value source, Value half, Operation *reader) {
    Value &wide = widened[source];
    if (wide)
      return wide;
    OpBuilder builder(reader);
    Value value = keep(half);
    if (anchor)
      value = RecomputeAfterOp::create(builder, source.getLoc(), value, anchor);
    wide = CastOp::create(builder, source.getLoc(), source.getType(), value);
    madeHere.insert(source);
    return wide;
  }

  /// For what was kept in half, or a view of it, what was computed again since;
  /// null if nothing was.
  Value findAgain(Value half, Operation *reader) {
    if (Value stash = stashed.lookup(half)) {
      auto rounded = stash.getDefiningOp<CastOp>();
      return rounded ? mapping.lookupOrNull(rounded.getX()) : Value();
    }
    Operation *op = half.getDefiningOp();
    if (!op || !isFreeToRecompute(op) || op->getNumOperands() == 0)
      return {};
    Value again = findAgain(op->getOperand(0), reader);
    if (!again || isa<RecomputeAfterOp>(op))
      return again;
    Operation *view = OpBuilder(reader).clone(*op);
    view->setOperand(0, again);
    Value result = view->getResult(0);
    result.setType(cast<RankedTensorType>(result.getType())
                       .clone(getElementTypeOrSelf(again.getType())));
    return result;
  }

  /// What `reader` takes for a value of backward: stash, or a view of stash,
  /// may have to be another one there.
  Value localize(Value value, Operation *reader) {
    if (Value source = stashed.lookup(value))
      return find(source, reader);
    Operation *op = value.getDefiningOp();
    if (auto cast = dyn_cast_or_null<CastOp>(op); cast && storesHalf)
      if (Value again = findAgain(cast.getX(), reader))
        return again;
    if (!op || !isFreeToRecompute(op))
      return value;
    IRMapping local;
    bool changes = false;
    for (Value operand : op->getOperands()) {
      Value found = localize(operand, reader);
      changes |= found != operand;
      local.map(operand, found);
    }
    return changes ? OpBuilder(reader)
                         .clone(*op, local)
                         ->getResult(cast<OpResult>(value).getResultNumber())
                   : value;
  }

  void clone(Operation *op, Operation *reader) {
    IRMapping local;
    bool waits = !anchor || op->getNumOperands() == 0;
    for (Value operand : op->getOperands()) {
      local.map(operand, find(operand, reader));
      waits |= madeHere.contains(operand);
    }
    OpBuilder builder(reader);
    if (!waits) {
      Value first = local.lookup(op->getOperand(0));
      local.map(op->getOperand(0),
                RecomputeAfterOp::create(builder, op->getLoc(), first, anchor));
    }
    Operation *clone = builder.clone(*op, local);
    mapping.map(op->getResults(), clone->getResults());
    madeHere.insert_range(op->getResults());
  }

  /// The argument of backward for a value of forward, a new one if need be.
  Value keep(Value source) {
    if (Value known = kept.lookup(source))
      return known;
    OpBuilder builder(backward.getContext());
    unsigned index = backward.getNumArguments();
    DictionaryAttr attributes;
    if (auto argument = dyn_cast<BlockArgument>(source)) {
      attributes = forward.getArgAttrDict(argument.getArgNumber());
    } else {
      std::string name = nameOf(cast<OpResult>(source));
      attributes = builder.getDictionaryAttr(
          builder.getNamedAttr(kStashAttr, builder.getStringAttr(name)));
      Operation *results = forward.getBody().front().getTerminator();
      results->insertOperands(results->getNumOperands(), source);
      (void)forward.insertResult(forward.getNumResults(), source.getType(),
                                 attributes);
    }
    (void)backward.insertArgument(index, source.getType(), attributes,
                                  source.getLoc());
    return kept[source] = backward.getArgument(index);
  }

  std::string nameOf(OpResult result) {
    std::string stem = getStableName(result.getLoc());
    if (unsigned number = result.getResultNumber())
      stem += "." + std::to_string(number);
    std::string name = stem;
    for (unsigned n = 1; !names.insert(name).second; ++n)
      name = stem + "." + std::to_string(n);
    return name;
  }

  void dropUnreadStash() {
    llvm::DenseSet<Attribute> dropped;
    llvm::BitVector arguments(backward.getNumArguments());
    for (BlockArgument argument : backward.getArguments())
      if (auto name = backward.getArgAttrOfType<StringAttr>(
              argument.getArgNumber(), kStashAttr);
          name && argument.use_empty()) {
        dropped.insert(name);
        arguments.set(argument.getArgNumber());
      }
    (void)backward.eraseArguments(arguments);
    llvm::BitVector results(forward.getNumResults());
    for (unsigned i = 0; i < forward.getNumResults(); ++i)
      if (dropped.contains(forward.getResultAttr(i, kStashAttr)))
        results.set(i);
    forward.getBody().front().getTerminator()->eraseOperands(results);
    (void)forward.eraseResults(results);
  }

  /// Views have lost their readers; forward made some values for the stash
  /// alone.
  static void dropDeadOps(func::FuncOp program) {
    for (Operation &op :
         llvm::make_early_inc_range(llvm::reverse(program.getBody().front())))
      if (isOpTriviallyDead(&op))
        op.erase();
  }

  func::FuncOp forward, backward;
  const Clones &clones;
  const bool storesHalf;
  /// Forward's values to the latest clone of each, arguments to backward's.
  IRMapping mapping;
  /// Of backward's stash arguments, what forward made; and the other way round.
  llvm::DenseMap<Value, Value> stashed, kept;
  /// Of a value of forward that is kept in half, the rounded one.
  llvm::DenseMap<Value, Value> halves;
  /// What was cloned in front of the current op, or made f32 again.
  llvm::DenseSet<Value> madeHere;
  llvm::DenseMap<Value, Value> widened;
  llvm::StringSet<> names;
  /// The last contraction of backward so far.
  Value anchor;
};

struct Rematerialize : tts::impl::TtsRematerializeBase<Rematerialize> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto plan = module->getAttrOfType<PlanAttr>(kPlanAttr);
    if (!plan) {
      module.emitError("rematerialize needs tts.plan; run tts-plan first");
      return signalPassFailure();
    }
    if (!plan.getRecompute())
      return;
    for (auto [bucket, programs] : getBucketPrograms(module))
      if (failed(rematerialize(programs, plan.getRecompute(bucket),
                               !plan.getStore(bucket).empty())))
        return signalPassFailure();
  }

  LogicalResult rematerialize(BucketPrograms programs,
                              ArrayRef<Attribute> recompute, bool storesHalf) {
    if (recompute.empty())
      return success();
    OpNames ops(programs.forward.getBody().front());
    OpNames readers(programs.backward.getBody().front());
    Clones clones;
    for (auto item : llvm::map_range(recompute, llvm::CastTo<RecomputeAttr>)) {
      Operation *op = ops.lookup(item.getOp());
      Operation *reader = readers.lookup(item.getBefore());
      if (!op || !reader)
        return (op ? programs.backward : programs.forward).emitError()
               << "has no op named " << (op ? item.getBefore() : item.getOp())
               << ", which tts.plan speaks of; plan this model anew";
      if (!canRecompute(op))
        return op->emitOpError("cannot be computed twice, as tts.plan has it: "
                               "it has effects or overwrites an operand");
      if (!clones.empty() && reader->isBeforeInBlock(clones.back().second))
        return programs.backward.emitError()
               << "tts.plan recomputes " << item.getOp() << " before "
               << item.getBefore() << ", but lists it behind a later op";
      clones.push_back({op, reader});
    }
    Rematerializer(programs, clones, storesHalf).run();
    return success();
  }
};
} // namespace
