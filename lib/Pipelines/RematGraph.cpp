//===- RematGraph.cpp - a bucket's programs as the solver sees them ------===//

#include "tts/Pipelines/RematGraph.h"

#include "tts/Analysis/FusionGroups.h"
#include "tts/Analysis/OpNames.h"
#include "tts/Analysis/Recomputable.h"
#include "tts/Dialect/Tts/IR/Names.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"

using namespace mlir;
using namespace tts;

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
                       const TimeModel &time)
    : context(forward.getContext()) {
  addForward(forward, time);
  addBackward(forward, backward);
}

void RematGraph::addForward(func::FuncOp forward, const TimeModel &time) {
  OpNames names(forward.getBody().front());
  auto add = [&](plan::RematOp op, Operation *source, double work) {
    problem.ops.push_back(std::move(op));
    opNames.push_back(source ? StringAttr::get(context, names.getName(source))
                             : StringAttr());
    flops.push_back(work);
    return static_cast<unsigned>(problem.ops.size() - 1);
  };
  for (BlockArgument argument : forward.getArguments()) {
    plan::RematOp op;
    op.isFree = true;
    op.canKeep = false;
    indexOf[argument] = add(op, nullptr, 0);
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
    unsigned index = add(item, &op, flopsOf(&op));
    stepFlops += flops.back();
    if (op.getNumResults() == 1) {
      indexOf[op.getResult(0)] = index;
      continue;
    }
    for (Value result : op.getResults()) {
      plan::RematOp part;
      part.operands = {index};
      part.bytes = bytesOf(result);
      part.canRecompute = item.canRecompute;
      indexOf[result] = add(part, nullptr, 0);
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
  for (const FusionGroup &group : computeFusionGroups(body)) {
    Operation *root = group.root();
    auto at = stepOf.find(root);
    if (at == stepOf.end() || takesOperand(root))
      continue;
    for (Value result : root->getResults()) {
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
      unsigned end = last.value_or(at->second);
      change[end + 1] -= bytesOf(result);
      if (steps[end]->hasTrait<Pointwise>() && end != at->second &&
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
