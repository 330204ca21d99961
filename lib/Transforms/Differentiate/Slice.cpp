//===- Slice.cpp - transitive operands, cloned in order ------------------===//

#include "Slice.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"

using namespace mlir;
using namespace tts;

/// The op's stand-in value in evaluation, or null.
static Value getStandIn(Operation *op, SliceMode mode) {
  auto trainingOnly = dyn_cast<TrainingOnlyOpInterface>(op);
  if (mode == SliceMode::Training || !trainingOnly)
    return {};
  return trainingOnly.getEvaluationValue();
}

Slice::Slice(TrainFunction &train, ValueRange roots, SliceMode mode)
    : train(train), mode(mode) {
  SmallVector<Value> worklist(roots);
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!values.insert(value).second || !op)
      continue;
    if (Value standIn = getStandIn(op, mode))
      worklist.push_back(standIn);
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
    if (Value standIn = getStandIn(&op, mode))
      mapping.map(op.getResult(0), mapping.lookup(standIn));
    else
      program.getBuilder().clone(op, mapping);
  }
}
