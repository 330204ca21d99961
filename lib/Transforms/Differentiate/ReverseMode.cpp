//===- ReverseMode.cpp - one walk backwards ------------------------------===//
// A value's gradient is a running sum, so that at most one partial gradient of
// it is alive at a time; the order of the sum is the reverse order of uses.

#include "ReverseMode.h"
#include "tts/Dialect/Tts/IR/Names.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"

using namespace mlir;
using namespace tts;

void ReverseMode::contribute(Value value, Value gradient) {
  auto locate = [&](StringRef name) -> Location {
    return NameLoc::get(builder.getStringAttr(name + ".grad"), value.getLoc());
  };
  auto accumulator = accumulators.find(value);
  if (accumulator != accumulators.end()) {
    auto &[name, sum] = accumulator->second;
    sum = AccumulateOp::create(builder, locate(name), gradient.getType(), sum,
                               gradient);
    return;
  }
  Value &sum = gradients[value];
  sum = sum ? AddOp::create(builder, locate(getStableName(value.getLoc())),
                            gradient.getType(), sum, gradient)
            : gradient;
}

LogicalResult ReverseMode::differentiate(Operation *op) {
  SmallVector<Value> results;
  for (Value result : op->getResults())
    results.push_back(gradients.lookup(result));
  if (llvm::none_of(results, [](Value gradient) { return !!gradient; }))
    return success();

  SmallVector<Value> operands(op->getNumOperands());
  cast<DifferentiableOpInterface>(op).buildAdjoint(builder, results, operands);
  for (OpOperand &operand : op->getOpOperands()) {
    if (!activity.dependsOnParameter(operand.get()))
      continue;
    Value gradient = operands[operand.getOperandNumber()];
    if (!gradient)
      return emitError(op->getLoc())
             << "'" << op->getName() << "' has no derivative in its operand #"
             << operand.getOperandNumber() << " but lies between "
             << activity.describe(op)
             << "; compute this operand from the data, or freeze the "
                "parameters behind it";
    contribute(operand.get(), gradient);
  }
  return success();
}

LogicalResult ReverseMode::run(Block &body) {
  for (Operation &op : llvm::reverse(body.without_terminator()))
    if (activity.isActive(&op) && failed(differentiate(&op)))
      return failure();
  return success();
}
