//===- Run.cpp - the clones, seconds and bytes of a policy ---------------===//

#include "Run.h"

#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <limits>

using namespace tts::plan;

llvm::StringRef RematProblem::findFault() const {
  for (size_t i = 0; i < ops.size(); ++i) {
    if (ops[i].bytes < 0 || ops[i].scratchBytes < 0 || !(ops[i].seconds >= 0))
      return "an operation has negative bytes or seconds";
    if (llvm::any_of(ops[i].operands, [&](unsigned o) { return o >= i; }))
      return "an operand does not come before its operation";
    if (!ops[i].canRecompute && (!ops[i].canKeep || ops[i].isFree))
      return "a value can neither be kept nor computed again";
  }
  for (const RematStep &step : steps)
    if (llvm::any_of(step.uses, [&](unsigned u) { return u >= ops.size(); }))
      return "a step reads a value that no operation makes";
  return "";
}

RematRunner::RematRunner(const RematProblem &problem)
    : problem(problem), lastForwardUse(problem.ops.size()),
      materializesInForward(problem.ops.size()),
      availableUntil(problem.ops.size()), current(problem.ops.size()) {
  for (unsigned i = 0; i < problem.ops.size(); ++i) {
    // A view that forward does not read keeps nothing alive there.
    lastForwardUse[i] = problem.ops[i].isFree ? 0 : i;
    materializesInForward[i] = !problem.ops[i].fuses;
    for (unsigned operand : problem.ops[i].operands)
      materializesInForward[operand] |= !problem.ops[i].fuses;
  }
  // From the back, so that what reads a view reads its source.
  for (unsigned i = problem.ops.size(); i-- > 0;)
    for (unsigned operand : problem.ops[i].operands)
      lastForwardUse[operand] =
          std::max(lastForwardUse[operand],
                   problem.ops[i].isFree ? lastForwardUse[i] : i);
}

/// Puts what must be made before `op` can be read in `step` into `pending`.
void RematRunner::demand(unsigned op, unsigned step, unsigned given) {
  stack.push_back(op);
  while (!stack.empty()) {
    unsigned next = stack.back();
    stack.pop_back();
    const RematOp &made = problem.ops[next];
    if (made.isFree && made.operands.empty())
      continue;
    if (next < given) {
      if (made.isFree)
        stack.insert(stack.end(), made.operands.begin(), made.operands.end());
      else
        readBelow.push_back(next);
      continue;
    }
    if (availableUntil[next] >= int(step))
      continue;
    availableUntil[next] = step;
    pending.push_back(next);
    stack.insert(stack.end(), made.operands.begin(), made.operands.end());
  }
}

/// A reader at `position` of what serves `op` there.
void RematRunner::read(unsigned op, unsigned step, unsigned position,
                       bool absorbed, unsigned given) {
  if (op < given ||
      (problem.ops[op].isFree && problem.ops[op].operands.empty()))
    return;
  Instance &instance = instances[current[op]];
  instance.end = position;
  instance.used = true;
  instance.materialized |= !absorbed || instance.step != step;
  logRead(op, step);
}

void RematRunner::logRead(unsigned op, unsigned step) {
  if (!readLog || lastRead[op] == int(step) || !problem.ops[op].canKeep ||
      problem.ops[op].isFree)
    return;
  readLog->push_back({op, lastRead[op], int(step)});
  lastRead[op] = step;
}

void RematRunner::makeClones(const RematHolds &holds, unsigned step,
                             unsigned given, RematPlan &plan) {
  llvm::sort(pending);
  for (unsigned op : pending) {
    const RematOp &made = problem.ops[op];
    unsigned position = positions.size();
    positions.push_back(
        {step, problem.steps[step].liveBefore + made.scratchBytes});
    for (unsigned operand : made.operands)
      read(operand, step, position, made.fuses, given);
    current[op] = instances.size();
    instances.push_back(
        {op, step, position, position, false, !made.fuses, true});
    if (made.isFree)
      continue;
    plan.clones.push_back({op, step});
    plan.seconds += made.canRecompute ? made.seconds
                                      : std::numeric_limits<double>::infinity();
    if (made.canKeep)
      for (const RematHold &hold : holds[op])
        if (hold.first <= int(step) && int(step) <= hold.last)
          availableUntil[op] = hold.last;
  }
  pending.clear();
}

RematPlan RematRunner::run(const RematHolds &holds) {
  RematPlan plan = run(holds, {0, unsigned(problem.steps.size()), 0,
                               unsigned(problem.ops.size())});
  plan.forwardPeak = forwardPeak(plan.kept);
  return plan;
}

RematPlan RematRunner::run(const RematHolds &holds, std::vector<Read> &reads) {
  reads.clear();
  lastRead.assign(problem.ops.size(), -1);
  readLog = &reads;
  RematPlan plan = run(holds);
  readLog = nullptr;
  return plan;
}

RematPlan RematRunner::run(const RematHolds &holds, const Stretch &stretch) {
  const auto [firstStep, lastStep, given, endOp] = stretch;
  RematPlan plan;
  instances.clear();
  positions.clear();
  readBelow.clear();
  early.clear();
  for (unsigned op = given; op < endOp; ++op) {
    availableUntil[op] = -1;
    for (const RematHold &hold : holds[op])
      if (hold.early)
        early.push_back({hold.first, op});
    if (holds[op].empty() || holds[op].front().first >= 0 ||
        !problem.ops[op].canKeep || problem.ops[op].isFree)
      continue;
    availableUntil[op] = holds[op].front().last;
    current[op] = instances.size();
    instances.push_back({op, 0, 0, 0, true, true, false});
  }
  llvm::sort(early);
  auto next = early.begin();
  for (unsigned step = firstStep; step < lastStep; ++step) {
    const RematStep &now = problem.steps[step];
    for (; next != early.end() && next->first <= step; ++next)
      if (next->first == step) {
        demand(next->second, step, given);
        logRead(next->second, step);
      }
    for (unsigned use : now.uses)
      demand(use, step, given);
    makeClones(holds, step, given, plan);
    for (unsigned use : now.uses)
      read(use, step, positions.size(), now.fuses, given);
    positions.push_back({step, now.liveDuring});
  }
  measure(firstStep, plan);
  return plan;
}

void RematRunner::measure(unsigned firstStep, RematPlan &plan) const {
  std::vector<int64_t> change(positions.size() + 1);
  for (const Instance &instance : instances) {
    if (!instance.used)
      continue;
    const int64_t bytes = problem.ops[instance.op].bytes;
    if (instance.kept) {
      plan.kept.push_back(instance.op);
      plan.keptBytes += bytes;
    }
    if (!instance.materialized)
      continue;
    change[instance.begin] += bytes;
    change[instance.end + 1] -= bytes;
  }
  plan.peakStep = firstStep;
  int64_t live = 0;
  for (size_t i = 0; i < positions.size(); ++i) {
    live += change[i];
    if (live + positions[i].own > plan.backwardPeak) {
      plan.backwardPeak = live + positions[i].own;
      plan.peakStep = positions[i].step;
    }
  }
}

int64_t RematRunner::forwardPeak(llvm::ArrayRef<unsigned> kept) const {
  std::vector<int64_t> change(problem.ops.size() + 1);
  const unsigned *next = kept.begin();
  for (unsigned i = 0; i < problem.ops.size(); ++i) {
    bool isKept = next != kept.end() && *next == i;
    next += isKept;
    if (!isKept && !materializesInForward[i])
      continue;
    change[i] += problem.ops[i].bytes;
    change[isKept ? problem.ops.size() : lastForwardUse[i] + 1] -=
        problem.ops[i].bytes;
  }
  int64_t live = 0, peak = 0;
  for (unsigned i = 0; i < problem.ops.size(); ++i) {
    live += change[i];
    peak = std::max(peak, live + problem.ops[i].scratchBytes);
  }
  return peak;
}

RematPlan tts::plan::runRemat(const RematProblem &problem,
                              const RematHolds &holds) {
  RematRunner runner(problem);
  return runner.run(holds);
}

RematHolds tts::plan::holdKept(const RematProblem &problem,
                               llvm::ArrayRef<bool> kept) {
  const int last = problem.steps.size();
  RematHolds holds(problem.ops.size());
  for (unsigned i = 0; i < problem.ops.size(); ++i)
    holds[i] = {{kept[i] ? -1 : 0, last}};
  return holds;
}
