//===- InferChecks.cpp - promises about the program that speaks ----------===//

#include "Checks.h"
#include "Program.h"
#include "tts/Dialect/Tts/IR/Names.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"

using namespace mlir;
using namespace tts;

/// Arguments of infer: parameters that are trained (or kept) by the other
/// programs, and inputs.
static bool checkArguments(ModuleOp module, func::FuncOp infer) {
  bool kept = true;
  NamedValues known;
  for (func::FuncOp program : getPrograms(module))
    if (program != infer)
      for (auto &parameter : getArguments(program, kParamAttr))
        known.insert(parameter);
  for (auto [name, value] : getArguments(infer, kParamAttr))
    if (!known.contains(name)) {
      emitError(infer.getLoc())
          << "parameter \"" << name << "\" of @" << infer.getName()
          << " is none of the training function's; nothing would ever set it";
      kept = false;
    }
  for (StringRef role : {kScalarAttr, kStashAttr, kGradientAttr, kMoment1Attr,
                         kMoment2Attr, kEmaAttr, kNextAttr})
    for (auto [name, value] : getArguments(infer, role)) {
      emitError(infer.getLoc())
          << "@" << infer.getName() << " takes " << role << " \"" << name
          << "\"; it may take parameters and inputs only";
      kept = false;
    }
  return kept;
}

/// What infer hands out: outputs, at most one of them the extents along a dim.
static bool checkResults(func::FuncOp infer) {
  bool kept = true;
  for (unsigned i = 0; i < infer.getNumResults(); ++i) {
    if (!infer.getResultAttr(i, kOutputAttr)) {
      emitError(infer.getLoc()) << "result #" << i << " of @" << infer.getName()
                                << " is no output; give it tts.output";
      kept = false;
    }
    auto type = dyn_cast<RankedTensorType>(infer.getResultTypes()[i]);
    if (infer.getResultAttr(i, kLengthsAttr) &&
        (!type || type.getRank() != 1 ||
         !type.getElementType().isInteger(32))) {
      emitError(infer.getLoc())
          << "result #" << i << " of @" << infer.getName()
          << " has tts.lengths but is " << infer.getResultTypes()[i]
          << "; lengths are an i32 [batch] tensor";
      kept = false;
    }
  }
  return kept;
}

LogicalResult tts::checkInfer(ModuleOp module) {
  func::FuncOp infer = findProgram(module, "infer");
  if (!infer)
    return success();
  bool kept = checkArguments(module, infer) & checkResults(infer);
  for (Operation &op : infer.getBody().front()) {
    auto random = dyn_cast<TrainingOnlyOpInterface>(op);
    if (random && random.actsInTrainingOnly()) {
      emitError(op.getLoc())
          << "'" << op.getName() << "' in @" << infer.getName()
          << " acts in training only; leave it out";
      kept = false;
    }
  }
  return success(kept);
}
