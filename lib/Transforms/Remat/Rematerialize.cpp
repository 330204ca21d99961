//===- Rematerialize.cpp - computing forward values again in backward ----===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "tts/Analysis/OpNames.h"
#include "tts/Analysis/Recomputable.h"
#include "tts/Dialect/Tts/IR/Names.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"
#include "tts/Transforms/Remat/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace tts;

namespace tts {
#define GEN_PASS_DEF_TTSREMATERIALIZE
#include "tts/Transforms/Remat/Passes.h.inc"
} // namespace tts

namespace {
/// The forward and backward program of one bucket.
struct Pair {
  func::FuncOp forward, backward;
};

class Rematerializer {
public:
  Rematerializer(Pair programs, const llvm::DenseSet<Operation *> &chosen)
      : forward(programs.forward), backward(programs.backward), chosen(chosen) {
  }

  void run() {
    mapArguments();
    readStash();
    Block &body = backward.getBody().front();
    for (Operation &op : llvm::make_early_inc_range(body)) {
      for (OpOperand &operand : op.getOpOperands())
        if (Value source = stashed.lookup(operand.get()))
          if (isCloned(source))
            operand.set(recreate(source, &op));
      // A contraction's result is always in memory, so that waiting for it
      // breaks no fusion group.
      if (isa<CostOpInterface>(op))
        anchor = op.getResult(0);
    }
    dropUnreadStash();
    dropDeadOps();
  }

private:
  bool isCloned(Value source) const {
    Operation *op = source.getDefiningOp();
    return op && (chosen.contains(op) || isFreeToRecompute(op));
  }

  /// What both programs are given: backward's argument for forward's.
  void mapArguments() {
    llvm::DenseMap<Attribute, BlockArgument> byRole;
    for (BlockArgument argument : backward.getArguments())
      for (StringRef role : {kParamAttr, kInputAttr, kScalarAttr})
        if (Attribute name =
                backward.getArgAttr(argument.getArgNumber(), role))
          byRole[roleKey(role, name)] = argument;
    for (BlockArgument argument : forward.getArguments())
      for (StringRef role : {kParamAttr, kInputAttr, kScalarAttr})
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
        if (!isCloned(source))
          mapping.map(source, argument);
      }
  }

  /// `source` of forward in backward, computed before `reader` if it has to
  /// be: every later reader finds it there.
  Value recreate(Value source, Operation *reader) {
    if (Value known = mapping.lookupOrNull(source))
      return known;
    if (!isCloned(source))
      return keep(source);
    Operation *op = source.getDefiningOp();
    bool waits = false;
    for (Value operand : op->getOperands()) {
      recreate(operand, reader);
      waits |= isCloned(operand);
    }
    OpBuilder builder(reader);
    Operation *clone = builder.clone(*op, mapping);
    if (!waits && anchor && clone->getNumOperands()) {
      builder.setInsertionPoint(clone);
      clone->setOperand(
          0, RecomputeAfterOp::create(builder, op->getLoc(),
                                      clone->getOperand(0), anchor));
    }
    return mapping.lookup(source);
  }

  /// A new argument of backward for a value of forward.
  Value keep(Value source) {
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
    Value argument = backward.getArgument(index);
    mapping.map(source, argument);
    return argument;
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

  /// Forward made some values for the stash alone; backward's copies of views
  /// may have lost their readers.
  void dropDeadOps() {
    for (func::FuncOp program : {forward, backward})
      for (Operation &op : llvm::make_early_inc_range(
               llvm::reverse(program.getBody().front())))
        if (isOpTriviallyDead(&op))
          op.erase();
  }

  func::FuncOp forward, backward;
  const llvm::DenseSet<Operation *> &chosen;
  IRMapping mapping;
  /// Of backward's stash arguments, what forward made.
  llvm::DenseMap<Value, Value> stashed;
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
    llvm::MapVector<int64_t, Pair> buckets;
    for (auto program : module.getOps<func::FuncOp>()) {
      auto kind = program->getAttrOfType<StringAttr>(kProgramAttr);
      auto bucket = program->getAttrOfType<IntegerAttr>(kBucketAttr);
      if (!kind || !bucket)
        continue;
      if (kind.getValue() == "forward")
        buckets[bucket.getInt()].forward = program;
      if (kind.getValue() == "backward")
        buckets[bucket.getInt()].backward = program;
    }
    for (auto [bucket, programs] : buckets)
      if (failed(rematerialize(programs, plan.getRecompute(bucket))))
        return signalPassFailure();
  }

  LogicalResult rematerialize(Pair programs, ArrayRef<Attribute> names) {
    if (names.empty())
      return success();
    OpNames ops(programs.forward.getBody().front());
    llvm::DenseSet<Operation *> chosen;
    for (auto name : llvm::map_range(names, llvm::CastTo<StringAttr>)) {
      Operation *op = ops.lookup(name.getValue());
      if (!op)
        return programs.forward.emitError()
               << "has no op named " << name
               << ", which tts.plan computes again; plan this model anew";
      if (!canRecompute(op))
        return op->emitOpError("cannot be computed twice, as tts.plan has it: "
                               "it has effects or overwrites an operand");
      chosen.insert(op);
    }
    Rematerializer(programs, chosen).run();
    return success();
  }
};
} // namespace
