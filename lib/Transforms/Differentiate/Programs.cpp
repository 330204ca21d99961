//===- Programs.cpp - the programs that are slices of @train -------------===//
// forward, denominators and eval: the ops of @train behind some of its values.

#include "Programs.h"
#include "Slice.h"
#include "tts/Dialect/Tts/IR/Names.h"

using namespace mlir;
using namespace tts;

/// Returns results of @train, mapped, with their attributes.
static void addResults(ProgramBuilder &program, const IRMapping &mapping,
                       ArrayRef<NamedResult> results) {
  for (const NamedResult &result : results)
    program.addResult(mapping.lookup(result.value), result.attributes);
}

static void appendValues(ArrayRef<NamedResult> results,
                         SmallVector<Value> &values) {
  for (const NamedResult &result : results)
    values.push_back(result.value);
}

func::FuncOp tts::buildForward(TrainFunction &train,
                               ArrayRef<StashEntry> stash) {
  SmallVector<Value> roots;
  appendValues(train.losses, roots);
  for (const State &state : train.states)
    roots.push_back(state.next);
  for (const StashEntry &entry : stash)
    roots.push_back(entry.value);
  ProgramBuilder program(train.func, "forward");
  IRMapping mapping;
  Slice(train, roots, SliceMode::Training).copyInto(program, mapping);
  addResults(program, mapping, train.losses);
  for (const State &state : train.states)
    program.addResult(mapping.lookup(state.next), kNextAttr,
                      train.getParameterName(state.parameter));
  for (const StashEntry &entry : stash)
    program.addResult(mapping.lookup(entry.value), kStashAttr, entry.name);
  return program.finish();
}

FailureOr<func::FuncOp> tts::buildDenominators(TrainFunction &train) {
  SmallVector<Value> roots;
  for (const NamedResult &denominator : train.denominators) {
    Slice slice(train, denominator.value, SliceMode::Training);
    for (BlockArgument argument : train.func.getArguments()) {
      StringRef parameter = train.getParameterName(argument);
      if (!parameter.empty() && slice.contains(argument))
        return emitError(denominator.value.getLoc())
               << "denominator \"" << denominator.name
               << "\" depends on parameter \"" << parameter
               << "\"; compute it from the data alone";
    }
    roots.push_back(denominator.value);
  }
  ProgramBuilder program(train.func, "denominators");
  IRMapping mapping;
  Slice(train, roots, SliceMode::Training).copyInto(program, mapping);
  addResults(program, mapping, train.denominators);
  return program.finish();
}

func::FuncOp tts::buildEval(TrainFunction &train) {
  SmallVector<Value> roots;
  for (auto *results : {&train.losses, &train.denominators, &train.outputs})
    appendValues(*results, roots);
  ProgramBuilder program(train.func, "eval");
  IRMapping mapping;
  Slice(train, roots, SliceMode::Evaluation).copyInto(program, mapping);
  for (auto *results : {&train.losses, &train.denominators, &train.outputs})
    addResults(program, mapping, *results);
  return program.finish();
}
