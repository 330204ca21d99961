//===- RematGraph.cpp - a bucket's programs as the solver sees them ------===//

#include "tts/Pipelines/RematGraph.h"

#include "tts/Analysis/FusionGroups.h"
#include "tts/Analysis/OpNames.h"
#include "tts/Analysis/Recomputable.h"
#include "tts/Analysis/Storable.h"
#include "tts/Dialect/Tts/IR/Names.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"

using namespace mlir;
using namespace tts;

/// A smaller value is not worth a cast.
static constexpr int64_t kLeastStored = 4096;

static int64_t bytesOf(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.getNumElements() *
         llvm::divideCeil(type.getElementTypeBitWidth(), 8);
}

static double flopsOf(Operation *op) {
  auto cost = dyn_cast<CostOpInterface>(op);
  return cost ? cost.getFlops() : 0;
}

static int64_t workspaceOf(Operation *op) {
  auto cost = dyn_cast<CostOpInterface>(op);
  return cost ? cost.getWorkspaceBytes() : 0;
}

/// Of running the op again, in a kernel with its reader if it is element-wise:
/// then its operand comes from memory instead of its result.
static double secondsOf(Operation *op, const TimeModel &time) {
  double bytes = 0;
  for (Value result : op->getResults())
    bytes += bytesOf(result);
  if (op->hasTrait<Pointwise>())
    return bytes / time.bytesPerSecond;
  for (Value operand : op->getOperands())
    bytes += bytesOf(operand);
  auto cost = dyn_cast<CostOpInterface>(op);
  if (!cost)
    return time.seconds(0, bytes, 0);
  int64_t calls = cost.getNumCalls();
  return time.seconds(flopsOf(op), bytes, calls) +
         (calls - 1) * time.entrySeconds;
}

RematGraph::RematGraph(func::FuncOp forward, func::FuncOp backward,
                       const TimeModel &time, const HalfStorage &storage)
    : context(forward.getContext()), time(time), storage(storage) {
  findStorable(forward, backward);
  addForward(forward);
  addBackward(forward, backward);
  priceStorage();
}

unsigned RematGraph::add(plan::RematOp op, StringAttr name, double work) {
  problem.ops.push_back(std::move(op));
  opNames.push_back(name);
  flops.push_back(work);
  return problem.ops.size() - 1;
}

/// What mixed precision would have in half everywhere, and in enough bytes.
void RematGraph::findStorable(func::FuncOp forward, func::FuncOp backward) {
  if (!storage.type)
    return;
  for (Operation &op : forward.getBody().front().without_terminator())
    for (OpResult result : op.getResults())
      if (canStoreHalf(result) && canRecompute(&op) && !isReadInFull(result) &&
          bytesOf(result) >= kLeastStored)
        mayStore.insert(result);
  llvm::DenseMap<Attribute, Value> made;
  Operation *results = forward.getBody().front().getTerminator();
  for (unsigned i = 0; i < forward.getNumResults(); ++i)
    if (Attribute name = forward.getResultAttr(i, kStashAttr))
      made[name] = results->getOperand(i);
  for (BlockArgument argument : backward.getArguments())
    if (Attribute name =
            backward.getArgAttr(argument.getArgNumber(), kStashAttr))
      if (isReadInFull(argument))
        mayStore.erase(made.lookup(name));
}

/// `index` makes `value`; what reads it reads what stands for it.
void RematGraph::define(OpResult value, unsigned index, StringAttr name) {
  indexOf[value] = index;
  const int64_t bytes = bytesOf(value);
  if (!mayStore.contains(value))
    return;
  problem.ops[index].canKeep = false;
  plan::RematOp rounded, full;
  rounded.bytes = bytes / 2;
  rounded.fuses = full.fuses = true;
  rounded.operands = {index};
  full.operands = {add(rounded, {}, 0)};
  full.isFree = storage.everything;
  full.canKeep = !full.isFree;
  full.bytes = full.isFree ? 0 : bytes;
  Storable storable;
  storable.value = index;
  storable.rounded = full.operands.front();
  storable.full = add(full, {}, 0);
  storable.item =
      StoreAttr::get(context, name, value.getResultNumber(), storage.type);
  indexOf[value] = storable.full;
  turnedBack[storable.full] = bytes;
  storables.push_back(storable);
}

void RematGraph::addForward(func::FuncOp forward) {
  OpNames names(forward.getBody().front());
  for (BlockArgument argument : forward.getArguments()) {
    plan::RematOp op;
    op.isFree = true;
    op.canKeep = false;
    indexOf[argument] = add(op, {}, 0);
  }
  for (Operation &op : forward.getBody().front().without_terminator()) {
    plan::RematOp item;
    for (Value operand : op.getOperands())
      item.operands.push_back(indexOf.lookup(operand));
    item.canRecompute = canRecompute(&op);
    item.isFree = isFreeToRecompute(&op);
    item.canKeep = !item.isFree && op.getNumResults() == 1;
    item.fuses = op.hasTrait<Pointwise>();
    item.seconds = item.isFree ? 0 : secondsOf(&op, time);
    item.scratchBytes = workspaceOf(&op);
    item.bytes = item.canKeep ? bytesOf(op.getResult(0)) : 0;
    // As views they have no bytes of their own, but an op that takes no
    // producers in finds them in memory.
    if (storage.everything && !item.fuses)
      for (unsigned operand : item.operands)
        item.scratchBytes += turnedBack.lookup(operand);
    auto name = StringAttr::get(context, names.getName(&op));
    unsigned index = add(item, name, flopsOf(&op));
    stepFlops += flops.back();
    if (op.getNumResults() == 1) {
      define(op.getResult(0), index, name);
      continue;
    }
    for (OpResult result : op.getResults()) {
      plan::RematOp part;
      part.operands = {index};
      part.bytes = bytesOf(result);
      part.canRecompute = item.canRecompute;
      define(result, add(part, {}, 0), name);
    }
  }
}

void RematGraph::addBackward(func::FuncOp forward, func::FuncOp backward) {
  llvm::DenseMap<Attribute, unsigned> made;
  Operation *results = forward.getBody().front().getTerminator();
  for (unsigned i = 0; i < forward.getNumResults(); ++i)
    if (Attribute name = forward.getResultAttr(i, kStashAttr))
      made[name] = indexOf.lookup(results->getOperand(i));
  /// What a value of backward reads of forward, seen through what is free.
  llvm::DenseMap<Value, SmallVector<unsigned, 2>> reads;
  for (BlockArgument argument : backward.getArguments())
    if (Attribute name =
            backward.getArgAttr(argument.getArgNumber(), kStashAttr))
      reads[argument].push_back(made.lookup(name));

  Block &body = backward.getBody().front();
  SmallVector<Operation *> steps;
  OpNames names(body);
  for (Operation &op : body.without_terminator()) {
    plan::RematStep step;
    for (Value operand : op.getOperands())
      if (auto it = reads.find(operand); it != reads.end())
        for (unsigned use : it->second)
          if (!llvm::is_contained(step.uses, use))
            step.uses.push_back(use);
    if (isFreeToRecompute(&op)) {
      if (!step.uses.empty())
        for (Value result : op.getResults())
          reads[result].assign(step.uses.begin(), step.uses.end());
      continue;
    }
    step.fuses = op.hasTrait<Pointwise>();
    problem.steps.push_back(std::move(step));
    steps.push_back(&op);
    stepNames.push_back(StringAttr::get(context, names.getName(&op)));
    stepFlops += flopsOf(&op);
  }
  addLiveBytes(body, steps);
}

/// Backward's own values: those that leave a kernel, from the step that makes
/// them to the last that reads them; what is summed in place takes no bytes,
/// and an element-wise kernel writes over an operand that dies there.
void RematGraph::addLiveBytes(Block &body, ArrayRef<Operation *> steps) {
  llvm::DenseMap<Operation *, unsigned> stepOf;
  for (auto [index, op] : llvm::enumerate(steps))
    stepOf[op] = index;
  auto takesOperand = [](Operation *op) {
    auto accumulating = dyn_cast<AccumulatingOpInterface>(op);
    return isa<InPlaceOpInterface>(op) ||
           (accumulating && accumulating.getAccumulator());
  };
  std::vector<int64_t> change(steps.size() + 1), reuse(steps.size());
  SmallVector<FusionGroup> groups = computeFusionGroups(body);
  // A row op may read its operands again after it has written.
  llvm::SmallPtrSet<Operation *, 32> inRows;
  for (const FusionGroup &group : groups)
    if (group.row())
      inRows.insert(group.ops.begin(), group.ops.end());
  for (const FusionGroup &group : groups) {
    auto at = stepOf.find(group.root());
    if (at == stepOf.end())
      continue;
    for (Value result : group.results) {
      if (takesOperand(result.getDefiningOp()))
        continue;
      std::optional<unsigned> last;
      SmallVector<Value> worklist{result};
      while (!worklist.empty())
        for (Operation *user : worklist.pop_back_val().getUsers()) {
          if (auto it = stepOf.find(user); it != stepOf.end())
            last = std::max(last.value_or(0), it->second);
          else // a view, or a constant made of it
            llvm::append_range(worklist, user->getResults());
        }
      change[at->second] += bytesOf(result);
      unsigned end = std::max(last.value_or(0), at->second);
      change[end + 1] -= bytesOf(result);
      if (steps[end]->hasTrait<Pointwise>() && end != at->second &&
          !inRows.contains(steps[end]) &&
          steps[end]->getResult(0).getType() == result.getType())
        reuse[end] = bytesOf(result);
    }
  }
  int64_t live = 0;
  for (auto [index, step] : llvm::enumerate(problem.steps)) {
    step.liveBefore = live;
    live += change[index];
    step.liveDuring = live - reuse[index] + workspaceOf(steps[index]);
  }
}

/// Rounding is a kernel of its own; turning back goes into a reader that takes
/// producers in, and is a kernel for another one, which has its f32 operand
/// beside it.
void RematGraph::priceStorage() {
  llvm::DenseMap<unsigned, Storable *> byFull;
  for (Storable &value : storables) {
    double bytes = problem.ops[value.rounded].bytes;
    value.seconds = time.seconds(0, 3 * bytes, 0);
    byFull[value.full] = &value;
  }
  for (plan::RematStep &step : problem.steps)
    for (unsigned use : step.uses)
      if (Storable *value = byFull.lookup(use)) {
        const int64_t bytes = problem.ops[value->rounded].bytes;
        ++value->readers;
        value->seconds += step.fuses ? bytes / time.bytesPerSecond
                                     : time.seconds(0, 3.0 * bytes, 0);
        if (storage.everything && !step.fuses)
          step.liveDuring += 2 * bytes;
      }
  // Where each may be kept as it is, the one choice weighs against the other.
  for (const Storable &value : storables)
    if (!storage.everything)
      problem.ops[value.full].seconds =
          value.seconds / std::max(1u, value.readers);
  if (storage.recompute)
    return;
  constexpr double kNever = 1e3;
  for (auto [op, name] : llvm::zip(problem.ops, opNames))
    if (name && !op.isFree)
      op.seconds = kNever * (op.seconds + time.entrySeconds);
}

bool RematGraph::isStored(const Storable &value,
                          const plan::RematPlan &plan) const {
  return llvm::binary_search(plan.kept, value.rounded) &&
         !llvm::binary_search(plan.kept, value.full);
}

/// Casts are paid where a value is kept in half, not where it is computed
/// again.
double RematGraph::countSeconds(const plan::RematPlan &plan) const {
  double sum = 0;
  for (const plan::RematClone &clone : plan.clones)
    if (opNames[clone.op])
      sum += problem.ops[clone.op].seconds;
  for (const Storable &value : storables)
    if (isStored(value, plan))
      sum += value.seconds;
  return sum;
}

std::vector<plan::RematPlan> RematGraph::solve() const {
  std::vector<plan::RematPlan> plans = plan::solveRemat(problem);
  if (!storage.type)
    return plans;
  if (!storage.recompute)
    llvm::erase_if(plans, [&](const plan::RematPlan &plan) {
      return llvm::any_of(plan.clones, [&](const plan::RematClone &clone) {
        return static_cast<bool>(opNames[clone.op]);
      });
    });
  for (plan::RematPlan &plan : plans)
    plan.seconds = countSeconds(plan);
  return plans;
}

ArrayAttr RematGraph::getStore(const plan::RematPlan &plan) const {
  SmallVector<Attribute> items;
  for (const Storable &value : storables)
    if (isStored(value, plan))
      items.push_back(value.item);
  return ArrayAttr::get(context, items);
}

ArrayAttr RematGraph::getRecompute(const plan::RematPlan &plan) const {
  SmallVector<Attribute> items;
  for (const plan::RematClone &clone : plan.clones)
    if (StringAttr name = opNames[clone.op])
      items.push_back(
          RecomputeAttr::get(name.getContext(), name, stepNames[clone.step]));
  return ArrayAttr::get(context, items);
}

double RematGraph::countFlops(const plan::RematPlan &plan) const {
  double sum = 0;
  for (const plan::RematClone &clone : plan.clones)
    sum += flops[clone.op];
  return sum;
}
