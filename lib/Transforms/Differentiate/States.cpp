//===- States.cpp - ops that keep something from update to update --------===//
// Taken apart before anything is derived from @train: what is left is pure, so
// whoever runs it twice (recomputation, a search for a NaN) advances nothing.

#include "Programs.h"
#include "tts/Dialect/Tts/IR/Names.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"

using namespace mlir;
using namespace tts;

/// Notes `next` as the value that the state `operand` of `op` takes.
static LogicalResult noteNext(TrainFunction &train, Operation *op,
                              Value operand, Value next) {
  auto *state = llvm::find_if(train.states, [&](const State &candidate) {
    return candidate.parameter == operand;
  });
  if (state == train.states.end())
    return emitError(op->getLoc())
           << "'" << op->getName()
           << "' keeps a state in a value that is none; pass a parameter with "
              "tts.state";
  if (state->next)
    return emitError(op->getLoc())
           << "'" << op->getName() << "' advances state \""
           << train.getParameterName(state->parameter)
           << "\", which another op advances already; give each its own";
  state->next = next;
  return success();
}

LogicalResult tts::expandStates(TrainFunction &train) {
  for (Operation &op : llvm::make_early_inc_range(train.getBody())) {
    auto stateful = dyn_cast<StatefulOpInterface>(op);
    if (!stateful)
      continue;
    OpBuilder builder(&op);
    SmallVector<Value> next;
    Value result = stateful.buildTraining(builder, next);
    for (auto [number, value] :
         llvm::zip_equal(stateful.getStateOperands(), next))
      if (failed(noteNext(train, &op, op.getOperand(number), value)))
        return failure();
    for (NamedResult &output : train.outputs)
      if (output.value == op.getResult(0))
        output.value = result;
    op.getResult(0).replaceAllUsesWith(result);
    op.erase();
  }
  for (const State &state : train.states)
    if (!state.next)
      return emitError(state.parameter.getLoc())
             << "state \"" << train.getParameterName(state.parameter)
             << "\" is advanced by no op; freeze it with tts.frozen instead";
  return success();
}
