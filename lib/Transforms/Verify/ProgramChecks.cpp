//===- ProgramChecks.cpp - promises about programs and their borders -----===//

#include "Checks.h"
#include "Program.h"
#include "tts/Dialect/Tts/IR/Names.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace tts;

static constexpr StringLiteral kUpdatePrograms[] = {
    "zero", "denominators", "forward", "backward", "update", "eval"};

/// How many functions are the program of that name.
static unsigned countPrograms(ModuleOp module, StringRef name) {
  return llvm::count_if(module.getOps<func::FuncOp>(), [&](func::FuncOp func) {
    return getProgramName(func) == name;
  });
}

/// A model may say how to speak, once.
static LogicalResult checkAtMostOneInfer(ModuleOp module) {
  if (unsigned count = countPrograms(module, "infer"); count > 1)
    return emitError(module.getLoc())
           << count << " functions are program 'infer'; keep one";
  return success();
}

LogicalResult tts::checkTrainOnly(ModuleOp module) {
  for (StringRef name : kUpdatePrograms)
    if (countPrograms(module, name))
      return emitError(module.getLoc())
             << "program '" << name
             << "' is made by Differentiate; a model file "
                "has the training function and perhaps infer";
  if (unsigned count = countPrograms(module, "train"); count != 1)
    return emitError(module.getLoc())
           << count
           << " training functions; give one the attribute tts.program = "
              "\"train\"";
  return checkAtMostOneInfer(module);
}

LogicalResult tts::checkPrograms(ModuleOp module) {
  bool kept = true;
  for (StringRef name : kUpdatePrograms)
    if (unsigned count = countPrograms(module, name); count != 1) {
      emitError(module.getLoc()) << "program '" << name << "' exists " << count
                                 << " times instead of once";
      kept = false;
    }
  kept &= succeeded(checkAtMostOneInfer(module));
  if (func::FuncOp train = findProgram(module, "train"))
    return emitError(train.getLoc())
           << "the training function is still there; run "
              "tts-differentiate";
  return success(kept);
}

/// `find` gets attribute dictionaries of arguments or results, one by one.
static LogicalResult
checkUnique(func::FuncOp func, StringRef kind, unsigned count,
            llvm::function_ref<DictionaryAttr(unsigned)> find) {
  static constexpr StringLiteral roles[] = {
      kParamAttr,   kInputAttr, kScalarAttr,   kLossAttr,    kDenominatorAttr,
      kOutputAttr,  kStashAttr, kGradientAttr, kPartialAttr, kMoment1Attr,
      kMoment2Attr, kEmaAttr,   kNextAttr};
  DenseMap<std::pair<StringRef, StringRef>, unsigned> first;
  for (unsigned index : llvm::seq(count)) {
    DictionaryAttr attributes = find(index);
    bool hasRole = false;
    for (StringRef role : roles) {
      auto name =
          attributes ? attributes.getAs<StringAttr>(role) : StringAttr();
      if (!name)
        continue;
      if (hasRole)
        return emitError(func.getLoc())
               << kind << " #" << index << " has two roles; split it in two";
      hasRole = true;
      auto [other, isNew] = first.try_emplace({role, name.getValue()}, index);
      if (!isNew)
        return emitError(func.getLoc())
               << kind << "s #" << other->second << " and #" << index
               << " are both " << role << " \"" << name.getValue()
               << "\"; names are unique";
    }
    if (!hasRole)
      return emitError(func.getLoc())
             << kind << " #" << index << " has no role";
  }
  return success();
}

LogicalResult tts::checkUniqueRoles(ModuleOp module) {
  bool kept = true;
  for (func::FuncOp program : getPrograms(module)) {
    kept &= succeeded(
        checkUnique(program, "argument", program.getNumArguments(),
                    [&](unsigned i) { return program.getArgAttrDict(i); }));
    kept &= succeeded(
        checkUnique(program, "result", program.getNumResults(),
                    [&](unsigned i) { return program.getResultAttrDict(i); }));
  }
  return success(kept);
}

LogicalResult tts::checkArgumentsUsed(ModuleOp module) {
  bool kept = true;
  for (func::FuncOp program : getPrograms(module)) {
    if (getProgramName(program) == "zero")
      continue;
    for (BlockArgument argument : program.getArguments())
      if (argument.use_empty()) {
        emitError(program.getLoc())
            << "argument #" << argument.getArgNumber() << " of @"
            << program.getName() << " has no reader";
        kept = false;
      }
  }
  return success(kept);
}

/// Each of `from` is in `to`, with the same type.
static bool checkCrosses(func::FuncOp func, const NamedValues &from,
                         const NamedValues &to, StringRef problem) {
  bool kept = true;
  for (auto [name, value] : from) {
    auto found = to.find(name);
    if (found == to.end()) {
      emitError(func.getLoc()) << "stash \"" << name << "\" " << problem;
      kept = false;
    } else if (found->second.getType() != value.getType()) {
      emitError(func.getLoc())
          << "stash \"" << name << "\" leaves forward as " << value.getType()
          << " and enters backward as " << found->second.getType();
      kept = false;
    }
  }
  return kept;
}

static LogicalResult checkStash(func::FuncOp forward, func::FuncOp backward) {
  NamedValues made = getResults(forward, kStashAttr);
  NamedValues taken = getArguments(backward, kStashAttr);
  bool kept = checkCrosses(forward, made, taken, "is taken by no backward");
  // Types were compared above.
  for (auto [name, value] : taken)
    if (!made.contains(name)) {
      emitError(backward.getLoc())
          << "stash \"" << name << "\" is made by no forward";
      kept = false;
    }
  return success(kept);
}

LogicalResult tts::checkStash(ModuleOp module) {
  // One pair, or one per bucket; checkPrograms says when one is missing.
  llvm::DenseMap<Attribute, func::FuncOp> forwards;
  for (func::FuncOp program : getPrograms(module))
    if (getProgramName(program) == "forward")
      forwards[program->getAttr(kBucketAttr)] = program;
  bool kept = true;
  for (func::FuncOp program : getPrograms(module))
    if (getProgramName(program) == "backward")
      if (auto forward = forwards.lookup(program->getAttr(kBucketAttr)))
        kept &= succeeded(::checkStash(forward, program));
  return success(kept);
}

LogicalResult tts::checkDenominators(ModuleOp module) {
  bool kept = true;
  auto check = [&](func::FuncOp func, func::FuncOp other, StringRef kind,
                   StringRef role, StringRef partner, StringRef partnerRole) {
    if (!func || !other)
      return;
    NamedValues partners = getResults(other, partnerRole);
    for (auto [name, value] : getResults(func, role))
      if (!partners.contains(name)) {
        emitError(func.getLoc())
            << kind << " \"" << name << "\" has no " << partner
            << "; return one with " << partnerRole << " = \"" << name << "\"";
        kept = false;
      }
  };
  auto checkBoth = [&](func::FuncOp losses, func::FuncOp denominators) {
    check(losses, denominators, "loss", kLossAttr, "denominator",
          kDenominatorAttr);
    check(denominators, losses, "denominator", kDenominatorAttr, "loss",
          kLossAttr);
  };
  func::FuncOp train = findProgram(module, "train");
  func::FuncOp eval = findProgram(module, "eval");
  checkBoth(train, train);
  checkBoth(eval, eval);
  checkBoth(findProgram(module, "forward"),
            findProgram(module, "denominators"));
  return success(kept);
}

LogicalResult tts::checkDistinctResults(ModuleOp module) {
  bool kept = true;
  for (func::FuncOp program : getPrograms(module)) {
    DenseMap<Value, unsigned> first;
    Operation *terminator = program.getBody().front().getTerminator();
    for (OpOperand &operand : terminator->getOpOperands()) {
      auto [other, isNew] =
          first.try_emplace(operand.get(), operand.getOperandNumber());
      if (isNew)
        continue;
      emitError(program.getLoc())
          << "results #" << other->second << " and #"
          << operand.getOperandNumber() << " of @" << program.getName()
          << " are one value but need storage of their own";
      kept = false;
    }
  }
  return success(kept);
}
