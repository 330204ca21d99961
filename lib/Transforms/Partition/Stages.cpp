//===- Stages.cpp - a module becomes one stage of a pipeline --------------===//

#include "Stages.h"
#include "StageAssignment.h"
#include "StageSlice.h"
#include "StageUpdate.h"
#include "tts/Dialect/Tts/IR/Names.h"

using namespace mlir;
using namespace tts;
using namespace tts::partition;

namespace {

/// What the stages exchange, numbered alike whichever of them is cut.
class Channels {
public:
  explicit Channels(const StageAssignment &stages) {
    for (auto &[bucket, parts] : stages.getBuckets())
      for (func::FuncOp program : {parts.forward, parts.backward, parts.eval})
        if (program)
          number(program, stages);
  }
  int64_t of(Value value, int reader) const {
    return numbers.at({value, reader});
  }
  int64_t next() const { return int64_t(numbers.size()); }

private:
  void number(func::FuncOp program, const StageAssignment &stages) {
    auto add = [&](Value value) {
      for (int reader : stages.readersOf(value))
        numbers.insert({{value, reader}, int64_t(numbers.size())});
    };
    llvm::for_each(program.getArguments(), add);
    for (Operation &op : program.getBody().front())
      llvm::for_each(op.getResults(), add);
  }

  llvm::MapVector<std::pair<Value, int>, int64_t> numbers;
};

class Cutter {
public:
  Cutter(const StageAssignment &stages, const Channels &channels, int stage)
      : stages(stages), channels(channels), stage(stage) {}

  void cutForward(func::FuncOp forward);
  void cutBackward(func::FuncOp forward, func::FuncOp backward);
  void cutByResults(func::FuncOp program);

private:
  bool isHere(int of) const {
    return of == StageAssignment::kAnywhere || of == stage;
  }
  bool keepsResult(func::FuncOp program, OpOperand &returned);
  void copyInOrder(StageSlice &slice);
  void sendAll(StageSlice &slice, Value value);
  void handOn(StageSlice &slice);
  Value receive(StageSlice &slice, Value value, int from);
  Value importToBackward(StageSlice &slice, Value value);
  Value findAccumulator(Value value);
  DictionaryAttr stashRole(Value value);
  void findStashes(func::FuncOp forward);

  const StageAssignment &stages;
  const Channels &channels;
  int stage;
  llvm::DenseMap<Value, DictionaryAttr> stashes;
};

} // namespace

Value Cutter::receive(StageSlice &slice, Value value, int from) {
  return slice.receive(value.getType(), from < stage ? stage - 1 : stage + 1,
                       channels.of(value, stage), value.getLoc());
}

/// To its neighbour, which hands it on.
void Cutter::sendAll(StageSlice &slice, Value value) {
  int source = stages.sourceOf(value);
  for (int reader : stages.readersOf(value))
    if (std::abs(reader - stage) == 1 &&
        (stage == source || (reader > stage) == (stage > source)))
      slice.send(slice.get(value), reader, channels.of(value, reader));
}

/// What only passes through.
void Cutter::handOn(StageSlice &slice) {
  auto visit = [&](Value value) {
    if (llvm::is_contained(stages.readersOf(value), stage))
      sendAll(slice, value);
  };
  llvm::for_each(slice.getWhole().getArguments(), visit);
  for (Operation &op : slice.getWhole().getBody().front())
    llvm::for_each(op.getResults(), visit);
}

/// The stage's ops, each followed by what others wait for.
void Cutter::copyInOrder(StageSlice &slice) {
  Block &body = slice.getWhole().getBody().front();
  for (Operation &op : body.without_terminator()) {
    if (stages.stageOf(&op) != stage || isa<RecomputeAfterOp>(op))
      continue;
    bool isAgain =
        op.getNumResults() && stages.findForward(op.getResult(0)) != nullptr;
    bool isAwaited = llvm::any_of(op.getResults(), [&](Value result) {
      return !stages.readersOf(result).empty();
    });
    // What is computed again is where it is read.
    if ((!isAgain || isAwaited) &&
        (op.getNumResults() == 0 || !slice.has(op.getResult(0))))
      slice.copy(&op);
    for (Value result : op.getResults())
      sendAll(slice, result);
  }
}

bool Cutter::keepsResult(func::FuncOp program, OpOperand &returned) {
  unsigned number = returned.getOperandNumber();
  for (StringRef role : {kLossAttr, kDenominatorAttr})
    if (auto loss = program.getResultAttrOfType<StringAttr>(number, role))
      return stages.stageOfLoss(loss) == stage;
  if (auto gradient =
          program.getResultAttrOfType<StringAttr>(number, kGradientAttr))
    return stages.stagesOf(gradient).contains(stage);
  if (program.getResultAttr(number, kStashAttr))
    return false; // what is kept is told by backward
  int of = stages.stageOf(returned.get());
  return of == stage ||
         (of == StageAssignment::kAnywhere && stage + 1 == stages.getCount());
}

/// Forward and eval: values of earlier stages are received where they are read
/// first. Zero and denominators have none.
void Cutter::cutByResults(func::FuncOp program) {
  StageSlice slice(program);
  slice.import = [&](Value value) -> Value {
    int from = stages.stageOf(value);
    return isHere(from) ? Value() : receive(slice, value, from);
  };
  copyInOrder(slice);
  handOn(slice);
  for (OpOperand &returned :
       program.getBody().front().getTerminator()->getOpOperands())
    if (keepsResult(program, returned))
      slice.addResult(slice.get(returned.get()),
                      program.getResultAttrDict(returned.getOperandNumber()));
  for (Value value : stages.keptIn(program, stage))
    slice.addResult(slice.get(value), stashRole(value));
  slice.finish();
}

void Cutter::findStashes(func::FuncOp forward) {
  for (OpOperand &returned :
       forward.getBody().front().getTerminator()->getOpOperands())
    if (forward.getResultAttr(returned.getOperandNumber(), kStashAttr))
      stashes[returned.get()] =
          forward.getResultAttrDict(returned.getOperandNumber());
}

DictionaryAttr Cutter::stashRole(Value value) {
  DictionaryAttr &role = stashes[value];
  if (!role) {
    std::string name = (getStableName(value.getLoc()) + Twine(".received.") +
                        Twine(cast<OpResult>(value).getResultNumber()))
                           .str();
    Builder b(value.getContext());
    role =
        b.getDictionaryAttr(b.getNamedAttr(kStashAttr, b.getStringAttr(name)));
  }
  return role;
}

/// The sum so far as this stage has it.
Value Cutter::findAccumulator(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (stages.stageOf(op) == stage)
      return value;
    value = StageAssignment::sumBefore(value);
  }
  return value;
}

Value Cutter::importToBackward(StageSlice &slice, Value value) {
  if (stages.accumulatorOf(value)) {
    Value own = findAccumulator(value);
    return own == value ? Value() : slice.get(own);
  }
  if (auto after = value.getDefiningOp<RecomputeAfterOp>()) {
    Value own = slice.get(after->getOperand(0)), when = after->getOperand(1);
    when = slice.has(when) ? slice.get(when) : slice.getLastReceived();
    if (!when || own == when)
      return own;
    return RecomputeAfterOp::create(slice.getBuilder(), after->getLoc(), own,
                                    when);
  }
  Value forward = stages.findForward(value);
  if (!forward) {
    int from = stages.stageOf(value);
    return isHere(from) ? Value() : receive(slice, value, from);
  }
  int from = stages.stageOf(forward);
  if (!isHere(from) && from > stage)
    return receive(slice, value, from);
  if (isHere(from) && value.getDefiningOp())
    return {}; // is computed again
  // All readers of what forward keeps share one argument.
  if (slice.has(forward))
    return slice.get(forward);
  Value argument = slice.addArgument(forward.getType(), stashRole(forward),
                                     forward.getLoc());
  slice.set(forward, argument);
  return argument;
}

void Cutter::cutBackward(func::FuncOp forward, func::FuncOp backward) {
  findStashes(forward);
  StageSlice slice(backward);
  slice.import = [&](Value value) { return importToBackward(slice, value); };
  for (BlockArgument argument : backward.getArguments())
    if (Value value = stages.findForward(argument);
        value && stages.stageOf(value) == stage)
      sendAll(slice, argument);
  copyInOrder(slice);
  handOn(slice);
  for (OpOperand &returned :
       backward.getBody().front().getTerminator()->getOpOperands())
    if (keepsResult(backward, returned)) {
      Value sum = findAccumulator(returned.get());
      if (sum.getDefiningOp())
        slice.addResult(slice.get(sum), backward.getResultAttrDict(
                                            returned.getOperandNumber()));
    }
  slice.finish();
}

/// Every parameter with its owner and every loss, whichever stage has them:
/// what the manifests of all stages list.
static void noteWhole(ModuleOp module, const StageAssignment &stages) {
  Builder b(module.getContext());
  llvm::MapVector<Attribute, Attribute> parameters, losses;
  auto add = [&](func::FuncOp program) {
    for (BlockArgument argument : program.getArguments()) {
      DictionaryAttr role = program.getArgAttrDict(argument.getArgNumber());
      auto name = role ? role.getAs<StringAttr>(kParamAttr) : nullptr;
      if (!name || stages.stagesOf(name).empty())
        continue;
      Attribute fields[] = {name, TypeAttr::get(argument.getType()),
                            b.getI64IntegerAttr(stages.ownerOf(name)), role};
      parameters.try_emplace(name, b.getArrayAttr(fields));
    }
    for (unsigned i = 0; i < program.getNumResults(); ++i)
      if (auto name = program.getResultAttrOfType<StringAttr>(i, kLossAttr))
        losses.try_emplace(name, program.getResultAttrDict(i));
  };
  for (auto program : module.getOps<func::FuncOp>())
    add(program);
  module->setAttr(
      kAllParametersAttr,
      b.getArrayAttr(llvm::to_vector(llvm::make_second_range(parameters))));
  module->setAttr(kAllLossesAttr, b.getArrayAttr(llvm::to_vector(
                                      llvm::make_second_range(losses))));
}

LogicalResult partition::cutStage(ModuleOp module, int64_t replicas) {
  auto starts = module->getAttrOfType<ArrayAttr>(kStageStartsAttr);
  int stage = int(module->getAttrOfType<IntegerAttr>(kStageAttr).getInt());
  StageAssignment stages(module, starts);
  if (failed(stages.run()))
    return failure();
  Channels channels(stages);
  noteWhole(module, stages);
  Cutter cutter(stages, channels, stage);
  SmallVector<func::FuncOp> others;
  func::FuncOp update;
  for (auto program : module.getOps<func::FuncOp>()) {
    auto kind = program->getAttrOfType<StringAttr>(kProgramAttr);
    if (!kind)
      continue;
    if (kind.getValue() == "update")
      update = program;
    else if (kind.getValue() == "zero" || kind.getValue() == "denominators" ||
             kind.getValue() == "infer")
      others.push_back(program);
  }
  for (auto &[bucket, parts] : stages.getBuckets()) {
    // Backward first: it reads which values forward has.
    if (parts.backward)
      cutter.cutBackward(parts.forward, parts.backward);
    if (parts.forward)
      cutter.cutByResults(parts.forward);
    if (parts.eval)
      cutter.cutByResults(parts.eval);
  }
  for (func::FuncOp program : others) {
    if (program->getAttrOfType<StringAttr>(kProgramAttr).getValue() == "infer")
      program.erase();
    else
      cutter.cutByResults(program);
  }
  if (update)
    cutUpdate(update, stages, stage, replicas, channels.next());
  return success();
}
