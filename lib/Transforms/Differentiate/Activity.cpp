//===- Activity.cpp - values between parameters and losses ---------------===//

#include "Activity.h"
#include "tts/Dialect/Tts/IR/Names.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"

using namespace mlir;
using namespace tts;

/// The first entry among `values`, or "".
static StringRef lookup(const DenseMap<Value, StringRef> &names,
                        ValueRange values) {
  for (Value value : values) {
    auto found = names.find(value);
    if (found != names.end())
      return found->second;
  }
  return {};
}

bool Activity::isActive(Operation *op) const {
  auto in = [](const DenseMap<Value, StringRef> &names) {
    return [&](Value value) { return names.count(value) > 0; };
  };
  return llvm::any_of(op->getOperands(), in(behind)) &&
         llvm::any_of(op->getResults(), in(ahead));
}

std::string Activity::describe(Operation *op) const {
  return ("parameter \"" + lookup(behind, op->getOperands()) +
          "\" and loss \"" + lookup(ahead, op->getResults()) + "\"")
      .str();
}

FailureOr<Activity> Activity::compute(TrainFunction &train) {
  Activity activity;
  for (BlockArgument parameter : train.trainable)
    activity.behind[parameter] = train.getParameterName(parameter);
  for (Operation &op : train.getBody())
    if (StringRef name = lookup(activity.behind, op.getOperands());
        !name.empty())
      for (Value result : op.getResults())
        activity.behind[result] = name;

  for (const NamedResult &loss : train.losses)
    activity.ahead.try_emplace(loss.value, loss.name);
  for (Operation &op : llvm::reverse(train.getBody().without_terminator()))
    if (StringRef name = lookup(activity.ahead, op.getResults()); !name.empty())
      for (Value operand : op.getOperands())
        activity.ahead.try_emplace(operand, name);

  for (Operation &op : train.getBody().without_terminator())
    if (activity.isActive(&op) && !isa<DifferentiableOpInterface>(op))
      return emitError(op.getLoc())
             << "'" << op.getName() << "' has no derivative but lies between "
             << activity.describe(&op)
             << "; compute it from the data, or freeze the parameters behind "
                "it";
  for (BlockArgument parameter : train.trainable)
    if (!activity.ahead.count(parameter))
      return emitError(parameter.getLoc())
             << "parameter \"" << train.getParameterName(parameter)
             << "\" reaches no loss; use it, or freeze it with tts.frozen";
  return activity;
}
