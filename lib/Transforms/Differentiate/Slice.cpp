//===- Slice.cpp - transitive operands, cloned in order ------------------===//

#include "Slice.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"

using namespace mlir;
using namespace tts;

/// The op if evaluation has something else in its place, or null.
static TrainingOnlyOpInterface getReplaced(Operation *op, SliceMode mode) {
  auto trainingOnly = dyn_cast<TrainingOnlyOpInterface>(op);
  if (mode == SliceMode::Training || !trainingOnly ||
      !trainingOnly.actsInTrainingOnly())
    return {};
  return trainingOnly;
}

Slice::Slice(TrainFunction &train, ValueRange roots, SliceMode mode)
    : train(train), mode(mode) {
  SmallVector<Value> worklist(roots);
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!values.insert(value).second || !op)
      continue;
    if (auto replaced = getReplaced(op, mode))
      llvm::append_range(worklist, replaced.getEvaluationOperands());
    else
      llvm::append_range(worklist, op->getOperands());
  }
}

void Slice::copyInto(ProgramBuilder &program, IRMapping &mapping) {
  for (BlockArgument argument : train.func.getArguments())
    if (contains(argument))
      mapping.map(argument, program.addArgument(argument.getType(),
                                                train.getAttributes(argument),
                                                argument.getLoc()));
  for (Operation &op : train.getBody().without_terminator()) {
    if (llvm::none_of(op.getResults(), [&](Value v) { return contains(v); }))
      continue;
    auto replaced = getReplaced(&op, mode);
    if (!replaced) {
      program.getBuilder().clone(op, mapping);
      continue;
    }
    auto operands = llvm::map_to_vector(
        replaced.getEvaluationOperands(),
        [&](Value operand) { return mapping.lookup(operand); });
    mapping.map(op.getResult(0),
                replaced.buildEvaluation(program.getBuilder(), operands));
  }
}
