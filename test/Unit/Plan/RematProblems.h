//===- RematProblems.h - problems for the solver's tests -----------------===//

#ifndef TTS_UNITTEST_PLAN_REMATPROBLEMS_H
#define TTS_UNITTEST_PLAN_REMATPROBLEMS_H

#include "tts/Transforms/Plan/Remat.h"
#include <limits>
#include <random>

namespace tts::plan {

/// `length` operations in a row, each read by one step, last first.
inline RematProblem makeChain(unsigned length, int64_t bytes = 10,
                              double seconds = 1) {
  RematProblem problem;
  problem.ops.resize(1 + length);
  problem.ops[0].isFree = true;
  for (unsigned i = 1; i <= length; ++i) {
    problem.ops[i].bytes = bytes;
    problem.ops[i].seconds = seconds;
    problem.ops[i].operands = {i - 1};
  }
  for (unsigned i = length; i > 0; --i) {
    problem.steps.emplace_back();
    problem.steps.back().uses = {i};
    problem.steps.back().liveBefore = 1;
    problem.steps.back().liveDuring = 2;
  }
  return problem;
}

/// One input, `count` operations of one or two operands, a step for each that
/// reads some of what the operation reads or makes.
inline RematProblem makeRandom(std::mt19937 &random, unsigned count) {
  auto between = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  RematProblem problem;
  problem.ops.resize(1 + count);
  problem.ops[0].isFree = true;
  for (unsigned i = 1; i <= count; ++i) {
    RematOp &op = problem.ops[i];
    op.bytes = between(1, 9);
    op.scratchBytes = between(0, 3) == 0 ? between(1, 5) : 0;
    op.seconds = double(between(0, 2) == 0 ? between(10, 30) : between(1, 3));
    op.canRecompute = between(0, 9) > 0;
    op.operands = {unsigned(between(i > 2 ? i - 2 : 0, i - 1))};
    if (between(0, 2) == 0)
      op.operands.push_back(between(0, i - 1));
  }
  for (unsigned i = count; i > 0; --i) {
    RematStep step;
    step.liveBefore = between(0, 4);
    step.liveDuring = step.liveBefore + between(0, 4);
    for (unsigned operand : problem.ops[i].operands)
      if (between(0, 2) > 0)
        step.uses.push_back(operand);
    if (between(0, 1) == 0)
      step.uses.push_back(i);
    problem.steps.push_back(step);
  }
  return problem;
}

/// Blocks of two matrix products and element-wise operations around them.
inline RematProblem makeBlocks(unsigned count) {
  RematProblem problem;
  problem.ops.emplace_back().isFree = true;
  std::vector<llvm::SmallVector<unsigned, 4>> reads(1);
  auto add = [&](int64_t bytes, double seconds,
                 llvm::SmallVector<unsigned, 4> operands, bool readsOperands) {
    RematOp &op = problem.ops.emplace_back();
    op.bytes = bytes;
    op.seconds = seconds;
    op.operands = operands;
    reads.push_back(readsOperands ? operands
                                  : llvm::SmallVector<unsigned, 4>());
    return unsigned(problem.ops.size() - 1);
  };
  unsigned x = add(100, 1, {0}, false);
  for (unsigned i = 0; i < count; ++i) {
    unsigned norm = add(100, 1, {x}, true);
    unsigned hidden = add(400, 80, {norm}, true);
    unsigned active = add(400, 3, {hidden}, true);
    unsigned out = add(100, 80, {active}, true);
    x = add(100, 1, {out, x}, false);
  }
  for (unsigned i = problem.ops.size(); --i > 0;) {
    RematStep &step = problem.steps.emplace_back();
    step.uses = reads[i];
    step.liveBefore = problem.ops[i].bytes;
    step.liveDuring = 2 * problem.ops[i].bytes;
  }
  return problem;
}

/// The fastest of at most `limit` bytes.
inline double pick(llvm::ArrayRef<RematPlan> plans, int64_t limit) {
  for (const RematPlan &plan : plans)
    if (plan.peakBytes() <= limit)
      return plan.seconds;
  return std::numeric_limits<double>::infinity();
}

} // namespace tts::plan

#endif // TTS_UNITTEST_PLAN_REMATPROBLEMS_H
