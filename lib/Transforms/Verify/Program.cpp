//===- Program.cpp - finding programs and their values by role -----------===//

#include "Program.h"
#include "tts/Dialect/Tts/IR/Names.h"

using namespace mlir;
using namespace tts;

StringRef tts::getProgramName(func::FuncOp func) {
  auto name = func->getAttrOfType<StringAttr>(kProgramAttr);
  return name ? name.getValue() : StringRef();
}

SmallVector<func::FuncOp> tts::getPrograms(ModuleOp module) {
  return llvm::filter_to_vector(
      module.getOps<func::FuncOp>(), [](func::FuncOp func) {
        return !getProgramName(func).empty() && func.getBody().hasOneBlock();
      });
}

func::FuncOp tts::findProgram(ModuleOp module, StringRef name) {
  for (func::FuncOp func : getPrograms(module))
    if (getProgramName(func) == name)
      return func;
  return {};
}

NamedValues tts::getArguments(func::FuncOp func, StringRef role) {
  NamedValues values;
  if (func)
    for (BlockArgument argument : func.getArguments())
      if (auto name =
              func.getArgAttrOfType<StringAttr>(argument.getArgNumber(), role))
        values.insert({name.getValue(), argument});
  return values;
}

NamedValues tts::getResults(func::FuncOp func, StringRef role) {
  NamedValues values;
  if (!func)
    return values;
  Operation *terminator = func.getBody().front().getTerminator();
  for (OpOperand &operand : terminator->getOpOperands())
    if (auto name = func.getResultAttrOfType<StringAttr>(
            operand.getOperandNumber(), role))
      values.insert({name.getValue(), operand.get()});
  return values;
}
