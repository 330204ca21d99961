//===- ParameterChecks.cpp - promises about parameters -------------------===//

#include "Checks.h"
#include "Program.h"
#include "tts/Dialect/Tts/IR/Names.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"

using namespace mlir;
using namespace tts;

namespace {
struct Parameter {
  func::FuncOp func; // where it was seen first
  BlockArgument argument;
  bool frozen;
  bool state;
};
using Parameters = llvm::MapVector<StringRef, Parameter>;
} // namespace

/// Every parameter where it is seen first; `again` gets the later ones.
static Parameters collectParameters(
    ModuleOp module,
    llvm::function_ref<void(StringRef, const Parameter &, const Parameter &)>
        again) {
  Parameters parameters;
  for (func::FuncOp program : getPrograms(module))
    for (auto [name, value] : getArguments(program, kParamAttr)) {
      auto argument = cast<BlockArgument>(value);
      Parameter here{program, argument,
                     !!program.getArgAttr(argument.getArgNumber(), kFrozenAttr),
                     !!program.getArgAttr(argument.getArgNumber(), kStateAttr)};
      auto [first, isNew] = parameters.insert({name, here});
      if (!isNew)
        again(name, first->second, here);
    }
  return parameters;
}

LogicalResult tts::checkParametersAgree(ModuleOp module) {
  bool kept = true;
  collectParameters(module, [&](StringRef name, const Parameter &first,
                                const Parameter &here) {
    StringRef difference;
    if (first.argument.getType() != here.argument.getType())
      difference = "types";
    else if (first.frozen != here.frozen)
      difference = "states (frozen or not)";
    else if (first.state != here.state)
      difference = "roles (tts.state or not)";
    else
      return;
    func::FuncOp func = here.func;
    emitError(func.getLoc())
        << "parameter \"" << name << "\" has different " << difference
        << " in @" << func::FuncOp(first.func).getName() << " and @"
        << func.getName() << "; the same name is the same parameter";
    kept = false;
  });
  return success(kept);
}

/// Whether `value` is `accumulator` with contributions added in place.
static bool accumulatesInto(Value value, Value accumulator) {
  while (value != accumulator) {
    Operation *op = value.getDefiningOp();
    if (auto add = dyn_cast_or_null<AccumulateOp>(op))
      value = add.getAcc();
    else if (auto adding = dyn_cast_or_null<AccumulatingOpInterface>(op))
      value = adding.getAccumulator();
    else
      return false;
    if (!value)
      return false;
  }
  return true;
}

namespace {
/// The places where a trainable parameter must occur.
class GradientChecker {
public:
  explicit GradientChecker(ModuleOp module)
      : backward(findProgram(module, "backward")),
        update(findProgram(module, "update")),
        cleared(getResults(findProgram(module, "zero"), kGradientAttr)),
        taken(getArguments(backward, kGradientAttr)),
        given(getResults(backward, kGradientAttr)),
        read(getArguments(update, kGradientAttr)),
        updated(getResults(update, kParamAttr)),
        found(getResults(findProgram(module, "forward"), kNextAttr)),
        adopted(getArguments(update, kNextAttr)) {}

  bool isComplete() const { return backward && update; }

  bool checkTrainable(StringRef name, const Parameter &parameter) {
    kept = true;
    require(cleared, name, parameter, "is cleared by no zero");
    require(given, name, parameter, "has no gradient in backward");
    require(taken, name, parameter, "has no accumulator in backward");
    require(read, name, parameter, "has a gradient that update does not read");
    require(updated, name, parameter, "is updated nowhere");
    if (kept && !accumulatesInto(given[name], taken[name]))
      complain(name, "has a gradient that does not go into its accumulator");
    if (kept && isa<BlockArgument>(updated[name]))
      complain(name, "leaves update unchanged");
    return kept;
  }

  bool checkFrozen(StringRef name) {
    kept = true;
    for (NamedValues *values : {&cleared, &taken, &given, &read, &updated})
      if (kept && values->contains(name))
        complain(name, "is frozen but has a gradient or an update");
    return kept;
  }

  bool checkState(StringRef name, const Parameter &parameter) {
    kept = true;
    for (NamedValues *values : {&cleared, &taken, &given, &read})
      if (kept && values->contains(name))
        complain(name, "is a state but has a gradient");
    require(found, name, parameter, "has no next value in forward");
    require(adopted, name, parameter, "has a next value that update ignores");
    require(updated, name, parameter, "is updated nowhere");
    return kept;
  }

private:
  void complain(StringRef name, const Twine &problem) {
    emitError(update.getLoc())
        << "parameter \"" << name << "\" " << problem.str();
    kept = false;
  }
  void require(const NamedValues &values, StringRef name,
               const Parameter &parameter, StringRef problem) {
    auto found = values.find(name);
    if (found == values.end())
      complain(name, problem);
    else if (found->second.getType() != parameter.argument.getType())
      complain(name, "meets a tensor of another type under its name");
  }

  func::FuncOp backward, update;
  NamedValues cleared, taken, given, read, updated, found, adopted;
  bool kept = true;
};
} // namespace

LogicalResult tts::checkGradients(ModuleOp module) {
  GradientChecker checker(module);
  if (!checker.isComplete())
    return success(); // checkPrograms says so
  Parameters parameters = collectParameters(
      module, [](StringRef, const Parameter &, const Parameter &) {});
  bool kept = true;
  for (auto &[name, parameter] : parameters)
    kept &= parameter.frozen  ? checker.checkFrozen(name)
            : parameter.state ? checker.checkState(name, parameter)
                              : checker.checkTrainable(name, parameter);
  return success(kept);
}
