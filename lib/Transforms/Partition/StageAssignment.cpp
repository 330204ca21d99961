//===- StageAssignment.cpp - which pipeline stage an op belongs to --------===//

#include "StageAssignment.h"
#include "tts/Dialect/Tts/IR/Names.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"

using namespace mlir;
using namespace tts;
using namespace tts::partition;

static DictionaryAttr attributesOf(BlockArgument argument) {
  auto program = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  return program.getArgAttrDict(argument.getArgNumber());
}

/// The parameter that an argument is, or is the half copy of.
static StringAttr parameterOf(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  DictionaryAttr attributes = argument ? attributesOf(argument) : nullptr;
  if (!attributes)
    return {};
  if (auto name = attributes.getAs<StringAttr>(kParamAttr))
    return name;
  return attributes.getAs<StringAttr>(kHalfCopyAttr);
}

static StringAttr nameOf(Operation *op) {
  return StringAttr::get(op->getContext(), getStableName(op->getLoc()));
}

StageAssignment::StageAssignment(ModuleOp module, ArrayAttr starts)
    : module(module), starts(starts), count(int(starts.size()) + 1) {}

int StageAssignment::stageOf(Value value) const {
  Operation *op = value.getDefiningOp();
  return op ? stageOf(op) : kAnywhere;
}

const llvm::SmallSetVector<int, 2> &
StageAssignment::stagesOf(StringAttr parameter) const {
  auto it = parameters.find(parameter);
  return it == parameters.end() ? none : it->second;
}

Value StageAssignment::lookThrough(Value value) {
  while (auto after = value.getDefiningOp<RecomputeAfterOp>())
    value = after->getOperand(0);
  return value;
}

Value StageAssignment::findForward(Value value) const {
  return inForward.lookup(lookThrough(value));
}

Value StageAssignment::sumBefore(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto adding = dyn_cast_or_null<AccumulatingOpInterface>(op))
    return adding.getAccumulator();
  auto inPlace = dyn_cast_or_null<InPlaceOpInterface>(op);
  int64_t tied =
      inPlace ? inPlace.getTiedOperand(cast<OpResult>(value).getResultNumber())
              : -1;
  return tied < 0 ? Value() : op->getOperand(tied);
}

StringAttr StageAssignment::accumulatorOf(Value value) const {
  while (value.getDefiningOp()) {
    value = sumBefore(value);
    if (!value)
      return {};
  }
  DictionaryAttr attributes = attributesOf(cast<BlockArgument>(value));
  return attributes ? attributes.getAs<StringAttr>(kGradientAttr) : nullptr;
}

void StageAssignment::collect() {
  for (auto program : module.getOps<func::FuncOp>()) {
    auto kind = program->getAttrOfType<StringAttr>(kProgramAttr);
    auto bucket = program->getAttrOfType<IntegerAttr>(kBucketAttr);
    if (!kind || !bucket)
      continue;
    BucketParts &parts = buckets[bucket.getInt()];
    if (kind.getValue() == "forward")
      parts.forward = program;
    else if (kind.getValue() == "backward")
      parts.backward = program;
    else if (kind.getValue() == "eval")
      parts.eval = program;
  }
}

LogicalResult StageAssignment::run() {
  collect();
  for (auto &[bucket, parts] : buckets)
    if (!parts.forward || failed(assignForward(parts.forward)))
      return parts.forward ? failure()
                           : module.emitError("a bucket has no forward "
                                              "program to cut into stages");
  for (auto &[bucket, parts] : buckets) {
    if (parts.eval)
      assignEval(parts.eval);
    if (parts.backward)
      assignBackward(parts);
  }
  return success();
}

/// Whether the op reads what forward computes of parameters.
static bool readsActivations(Operation *op, const StageAssignment &stages) {
  return llvm::any_of(op->getOperands(), [&](Value operand) {
    return stages.stageOf(operand) != StageAssignment::kAnywhere;
  });
}

LogicalResult StageAssignment::assignForward(func::FuncOp forward) {
  Block &body = forward.getBody().front();
  int stage = 0;
  for (Operation &op : body.without_terminator()) {
    if (stage + 1 < count && nameOf(&op) == starts[stage])
      ++stage;
    bool isFree = !readsActivations(&op, *this) &&
                  llvm::none_of(op.getOperands(), [](Value operand) {
                    return parameterOf(operand);
                  });
    stages[&op] = isFree ? kAnywhere : stage;
  }
  if (stage + 1 != count)
    return forward.emitError("has no op named '")
           << cast<StringAttr>(starts[stage]).getValue()
           << "' behind where stage " << stage
           << " begins; tts.stage_starts are names of its ops in order";
  // What is made of a parameter alone is made where it is first read.
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    if (stageOf(&op) == kAnywhere || readsActivations(&op, *this))
      continue;
    int first = count;
    for (Operation *user : op.getUsers())
      if (int reader = stageOf(user); reader != kAnywhere)
        first = std::min(first, reader);
    if (first < count)
      stages[&op] = first;
  }
  for (Operation &op : body.without_terminator())
    byName.try_emplace(nameOf(&op), stageOf(&op));
  noteParameters(forward);
  noteCrossings(forward);
  Operation *returned = body.getTerminator();
  for (OpOperand &operand : returned->getOpOperands())
    if (auto loss = forward.getResultAttrOfType<StringAttr>(
            operand.getOperandNumber(), kLossAttr))
      losses[loss] = stageOf(operand.get()) == kAnywhere
                         ? count - 1
                         : stageOf(operand.get());
  return success();
}

/// Where forward has an op of that name, but not before what it reads.
void StageAssignment::assignEval(func::FuncOp eval) {
  for (Operation &op : eval.getBody().front().without_terminator()) {
    bool readsParameters = llvm::any_of(
        op.getOperands(), [](Value operand) { return parameterOf(operand); });
    if (!readsActivations(&op, *this) && !readsParameters) {
      stages[&op] = kAnywhere;
      continue;
    }
    auto known = byName.find(nameOf(&op));
    int stage = known == byName.end() ? 0 : std::max(known->second, 0);
    for (Value operand : op.getOperands())
      stage = std::max(stage, stageOf(operand));
    stages[&op] = stage;
  }
  noteParameters(eval);
  noteCrossings(eval);
}

void StageAssignment::noteParameters(func::FuncOp program) {
  for (BlockArgument argument : program.getArguments())
    if (StringAttr parameter = parameterOf(argument))
      for (Operation *user : argument.getUsers())
        if (int stage = stageOf(user); stage != kAnywhere)
          parameters[parameter].insert(stage);
}

void StageAssignment::need(Value value, int source, int reader) {
  SmallVector<int, 2> &all = readers[value];
  int step = reader > source ? 1 : -1;
  for (int stage = source + step;; stage += step) {
    if (!llvm::is_contained(all, stage))
      all.push_back(stage);
    if (stage == reader)
      return;
  }
}

int StageAssignment::sourceOf(Value value) const {
  Value forward = findForward(value);
  return stageOf(forward ? forward : value);
}

ArrayRef<int> StageAssignment::readersOf(Value value) const {
  auto it = readers.find(value);
  return it == readers.end() ? ArrayRef<int>() : ArrayRef<int>(it->second);
}

void StageAssignment::noteCrossings(func::FuncOp program) {
  for (Operation &op : program.getBody().front().without_terminator()) {
    int stage = stageOf(&op);
    if (stage == kAnywhere)
      continue;
    for (Value operand : op.getOperands())
      if (int source = stageOf(operand); source != kAnywhere && source != stage)
        need(operand, source, stage);
  }
}

/// Stashes by name and what is computed again, to forward's values.
static void findForwardValues(BucketParts &parts,
                              llvm::DenseMap<Value, Value> &inForward) {
  llvm::DenseMap<Attribute, Value> stashed;
  Operation *returned = parts.forward.getBody().front().getTerminator();
  for (OpOperand &operand : returned->getOpOperands())
    if (Attribute name =
            parts.forward.getResultAttr(operand.getOperandNumber(), kStashAttr))
      stashed[name] = operand.get();
  for (BlockArgument argument : parts.backward.getArguments())
    if (Attribute name =
            parts.backward.getArgAttr(argument.getArgNumber(), kStashAttr))
      inForward[argument] = stashed.lookup(name);
  llvm::DenseMap<std::pair<StringAttr, OperationName>, Operation *> ops;
  for (Operation &op : parts.forward.getBody().front().without_terminator())
    ops.try_emplace({nameOf(&op), op.getName()}, &op);
  for (Operation &op : parts.backward.getBody().front().without_terminator())
    if (!isa<RecomputeAfterOp>(op))
      if (Operation *twin = ops.lookup({nameOf(&op), op.getName()});
          twin && twin->getResultTypes() == op.getResultTypes())
        for (auto [again, value] :
             llvm::zip(op.getResults(), twin->getResults()))
          inForward[again] = value;
}

void StageAssignment::assignBackward(BucketParts &parts) {
  findForwardValues(parts, inForward);
  for (Operation &op : parts.backward.getBody().front().without_terminator()) {
    if (op.getNumResults() == 0 || isa<RecomputeAfterOp>(op))
      continue;
    if (Value forward = inForward.lookup(op.getResult(0)))
      stages[&op] = stageOf(forward);
    else
      stages[&op] = placeGradient(&op);
  }
  noteBackward(parts);
}

/// Whether a stage has a value of forward, its own or received.
bool StageAssignment::isAvailable(Value value, int stage) const {
  int source = stageOf(value);
  return source == kAnywhere || source == stage ||
         llvm::is_contained(readersOf(value), stage);
}

int StageAssignment::placeGradient(Operation *op) {
  int latest = count;
  SmallVector<Value> values;
  SmallVector<StringAttr> needed;
  for (Value operand : op->getOperands()) {
    Value value = lookThrough(operand);
    if (StringAttr gradient = accumulatorOf(value))
      needed.push_back(gradient);
    else if (StringAttr parameter = parameterOf(value))
      needed.push_back(parameter);
    else if (Value forward = inForward.lookup(value))
      values.push_back(forward);
    else if (int stage = stageOf(value); stage != kAnywhere)
      latest = std::min(latest, stage);
  }
  if (latest == count) { // the gradient of a loss
    StringRef name = nameOf(op).getValue();
    name.consume_back(".grad");
    auto known = byName.find(StringAttr::get(op->getContext(), name));
    if (op->getNumOperands() == 0)
      return kAnywhere;
    latest = known == byName.end() || known->second == kAnywhere
                 ? count - 1
                 : known->second;
  }
  auto has = [&](int stage) {
    return llvm::all_of(needed, [&](StringAttr parameter) {
      return stagesOf(parameter).contains(stage);
    });
  };
  int fallback = kAnywhere;
  for (int stage = latest; stage >= 0; --stage) {
    if (!has(stage))
      continue;
    if (llvm::all_of(values,
                     [&](Value value) { return isAvailable(value, stage); }))
      return stage;
    if (fallback == kAnywhere)
      fallback = stage;
  }
  return fallback == kAnywhere ? latest : fallback;
}

void StageAssignment::noteBackward(BucketParts &parts) {
  for (Operation &op : parts.backward.getBody().front().without_terminator()) {
    int stage = stageOf(&op);
    bool isAgain = op.getNumResults() && inForward.contains(op.getResult(0));
    if (stage == kAnywhere || isAgain || isa<RecomputeAfterOp>(op))
      continue;
    for (Value operand : op.getOperands())
      noteRead(parts, operand, stage);
  }
}

/// What a stage reads in backward it has, or gets from another; what is
/// computed again is, where it is read by its own stage.
void StageAssignment::noteRead(BucketParts &parts, Value operand, int stage) {
  Value value = lookThrough(operand);
  if (accumulatorOf(value))
    return;
  Value forward = inForward.lookup(value);
  Operation *again = forward ? value.getDefiningOp() : nullptr;
  int source = stageOf(forward ? forward : value);
  if (!forward) {
    if (source != kAnywhere && source != stage)
      need(value, source, stage); // a gradient for an earlier stage
  } else if (source != kAnywhere && source < stage) {
    need(forward, source, stage); // received in forward
    kept[{parts.forward, stage}].insert(forward);
  } else {
    int holder = source == kAnywhere ? stage : source;
    if (holder != stage)
      need(value, holder, stage);
    if (!again)
      kept[{parts.forward, holder}].insert(forward);
    else if (read.insert({again, holder}).second)
      for (Value further : again->getOperands())
        noteRead(parts, further, holder);
  }
}

ArrayRef<Value> StageAssignment::keptIn(func::FuncOp forward, int stage) const {
  auto it = kept.find({forward, stage});
  return it == kept.end() ? ArrayRef<Value>() : it->second.getArrayRef();
}
