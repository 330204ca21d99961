//===- Stages.cpp - planning a pipeline of stages -------------------------===//

#include "tts/Pipelines/Stages.h"
#include "Candidates.h"
#include "StagedWork.h"

#include "mlir/IR/Threading.h"
#include "tts-runtime/Format.h"
#include "tts/Analysis/BucketPrograms.h"
#include "tts/Analysis/EagerBytes.h"
#include "tts/Dialect/Tts/IR/Names.h"
#include "tts/Pipelines/WholeBatch.h"
#include "tts/Transforms/Plan/Pipeline.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tts;

std::optional<StageRefusal> tts::findStageRefusal(ModuleOp differentiated,
                                                  const PlanRequest &request,
                                                  int64_t stages) {
  if (request.ranks % stages != 0)
    return StageRefusal{llvm::formatv("{0} ranks cannot share {1} stages",
                                      request.ranks, stages),
                        "give a number of stages that divides --ranks"};
  if (request.deterministic)
    return StageRefusal{"stages add gradients in no order that fewer ranks "
                        "have",
                        "leave out --deterministic or --pipeline"};
  if (request.shardStates != "auto" && request.shardStates != "none")
    return StageRefusal{"a stage's states are whole",
                        "leave out --shard-states or --pipeline"};
  if (request.optimizerInBackward == "on")
    return StageRefusal{"several micro-batches are under way in a stage",
                        "leave out --optimizer-in-backward or --pipeline"};
  if (Operation *op = findWholeBatchOp(differentiated))
    return StageRefusal{"'" + getStableName(op->getLoc()) +
                            "' looks at all utterances of an update together",
                        "leave out --pipeline"};
  return std::nullopt;
}

namespace {

/// A replica's choice, cut.
struct Trial {
  size_t choice = 0;
  OwningOpRef<ModuleOp> whole; ///< after Rematerialize
  ArrayAttr starts;
  std::vector<PlanRole> roles;
  Exchange exchange;
  double stepSeconds = 0, bubble = 0;

  const PlanRole &largest() const { return findLargest(roles); }
};

class StagePlanner {
public:
  StagePlanner(ModuleOp module, const PlanRequest &request, int64_t stages,
               PlanFront front)
      : module(module), request(request), stages(stages),
        replicas(request.ranks / stages), front(std::move(front)) {
    batchOfReplica = shareOfBatch(
        module->getAttrOfType<IntegerAttr>(kBatchAttr).getInt(), replicas);
  }

  FailureOr<PlanResult> run() {
    if (failed(makeTrials()))
      return failure();
    if (failed(failableParallelForEach(
            module.getContext(), trials,
            [&](Trial &trial) { return lower(trial); })))
      return failure();
    return choose();
  }

private:
  LogicalResult makeTrials();
  std::vector<plan::ChainOp> readChain(ModuleOp whole);
  ArrayAttr cut(ModuleOp whole, plan::Balance balance);
  LogicalResult lower(Trial &trial);
  LogicalResult lowerStage(Trial &trial, int64_t stage);
  void measureSeconds(Trial &trial);
  ConsideredChoice describe(const Trial &trial) const;
  FailureOr<PlanResult> choose();

  ModuleOp module;
  const PlanRequest &request;
  int64_t stages, replicas, batchOfReplica;
  PlanFront front;
  std::vector<Trial> trials;
};

int64_t bytesOf(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.getNumElements() * tensor.getElementTypeBitWidth() / 8;
}

} // namespace

/// A few of the choices, evenly from the fastest to the smallest.
LogicalResult StagePlanner::makeTrials() {
  constexpr size_t kMost = 5;
  llvm::SetVector<size_t> which;
  size_t count = std::min(front.choices.size(), kMost);
  for (size_t i = 0; i < count; ++i)
    which.insert(count == 1 ? 0 : i * (front.choices.size() - 1) / (count - 1));
  PipelineOptions options;
  options.verifyContracts = options.verifyEach = false;
  for (size_t choice : which) {
    OwningOpRef<ModuleOp> whole = module.clone();
    (*whole)->setAttr(kPlanAttr, front.choices[choice].plan);
    if (failed(runPhases(*whole, Phase::Specialize, Phase::Rematerialize,
                         options)))
      return failure();
    llvm::SmallSetVector<Attribute, 2> cuts;
    for (plan::Balance balance : {plan::Balance::Seconds, plan::Balance::Bytes})
      if (ArrayAttr starts = cut(*whole, balance))
        cuts.insert(starts);
    if (cuts.empty())
      return module.emitError("its forward has fewer operations than ")
             << stages << " stages";
    for (Attribute starts : cuts) {
      Trial &trial = trials.emplace_back();
      trial.choice = choice;
      trial.starts = cast<ArrayAttr>(starts);
      trial.whole = starts == cuts.back() ? std::move(whole) : whole->clone();
    }
  }
  return success();
}

/// What each op of the largest bucket's forward brings to its stage.
std::vector<plan::ChainOp> StagePlanner::readChain(ModuleOp whole) {
  func::FuncOp forward = getBucketPrograms(whole).back().second.forward;
  const plan::Hardware &hardware = request.hardware;
  StringRef precision =
      whole->getAttrOfType<PlanAttr>(kPlanAttr).getPrecision().getValue();
  // A gradient, two moments and, where there is one, an average beside each.
  int64_t copies = whole->hasAttr(kEmaDecayAttr) ? 5 : 4;
  Block &body = forward.getBody().front();
  llvm::DenseMap<Operation *, size_t> places;
  for (auto [place, op] : llvm::enumerate(body))
    places[&op] = place;
  std::vector<plan::ChainOp> chain(places.size() - 1);
  std::vector<int64_t> change(places.size() + 1);
  llvm::DenseSet<Value> kept;
  for (OpOperand &operand : body.getTerminator()->getOpOperands())
    if (forward.getResultAttr(operand.getOperandNumber(), kStashAttr))
      kept.insert(operand.get());
  llvm::DenseSet<Value> seen;
  for (Operation &op : body.without_terminator()) {
    plan::ChainOp &own = chain[places[&op]];
    double bytes = 0;
    for (Value operand : op.getOperands()) {
      bytes += bytesOf(operand.getType());
      auto argument = dyn_cast<BlockArgument>(operand);
      if (argument && seen.insert(operand).second &&
          (forward.getArgAttr(argument.getArgNumber(), kParamAttr) ||
           forward.getArgAttr(argument.getArgNumber(), kHalfCopyAttr)))
        own.stateBytes += copies * bytesOf(operand.getType());
    }
    for (Value result : op.getResults()) {
      bytes += bytesOf(result.getType());
      if (kept.contains(result))
        own.keptBytes += bytesOf(result.getType());
      size_t last = places[&op];
      for (Operation *user : result.getUsers())
        if (user != body.getTerminator())
          last = std::max(last, places.lookup(user));
      change[places[&op] + 1] += bytesOf(result.getType());
      change[last + 1] -= bytesOf(result.getType());
    }
    auto cost = dyn_cast<CostOpInterface>(op);
    own.seconds = bytes / hardware.bytesPerSecond(request.threads);
    if (cost)
      own.seconds = std::max(
          own.seconds, double(cost.getFlops()) /
                           hardware.flopsPerSecond(precision, request.threads));
  }
  int64_t crossing = 0;
  for (auto [place, op] : llvm::enumerate(chain)) {
    crossing += change[place];
    op.crossingBytes = crossing;
  }
  return chain;
}

/// Null: there are fewer ops than stages.
ArrayAttr StagePlanner::cut(ModuleOp whole, plan::Balance balance) {
  SmallVector<size_t> places =
      plan::cutChain(readChain(whole), stages, balance);
  if (places.empty())
    return {};
  func::FuncOp forward = getBucketPrograms(whole).back().second.forward;
  Builder b(module.getContext());
  SmallVector<Attribute> starts;
  for (size_t place : places) {
    auto op = std::next(forward.getBody().front().begin(), place);
    starts.push_back(b.getStringAttr(getStableName(op->getLoc())));
  }
  return b.getArrayAttr(starts);
}

LogicalResult StagePlanner::lower(Trial &trial) {
  for (int64_t stage = 0; stage < stages; ++stage)
    if (failed(lowerStage(trial, stage)))
      return failure();
  trial.whole = nullptr;
  measureSeconds(trial);
  return success();
}

LogicalResult StagePlanner::lowerStage(Trial &trial, int64_t stage) {
  PlanRole &role = trial.roles.emplace_back();
  for (int64_t replica = 0; replica < replicas; ++replica)
    role.ranks.push_back(stage * replicas + replica);
  role.lowered = trial.whole->clone();
  ModuleOp lowered = *role.lowered;
  noteStage(lowered, request, trial.starts, stage);
  PipelineOptions options;
  options.verifyContracts = options.verifyEach = false;
  if (failed(runPhases(lowered, Phase::Partition, Phase::Memory, options)))
    return failure();
  role.measure = measureStep(lowered, request.hardware, request.threads);
  role.hostBufferBytes = hostUtterances(batchOfReplica, replicas) *
                         *llvm::max_element(role.measure.hostBytes);
  role.overheadBytes = request.hardware.processBytes +
                       request.hardware.collectiveBytes(request.ranks) +
                       role.hostBufferBytes +
                       request.hardware.primitiveBytes *
                           static_cast<int64_t>(role.measure.primitives.size());
  return success();
}

/// Micro-batches of all buckets are one kind, of the average's times.
void StagePlanner::measureSeconds(Trial &trial) {
  std::vector<double> counts;
  ArrayRef<int64_t> microBatches =
      front.choices[trial.choice].plan.getMicroBatches();
  for (auto [share, microBatch] : llvm::zip(front.shares, microBatches))
    counts.push_back(
        plan::expectedMicroBatches(batchOfReplica, share, microBatch));
  StagedWork work(trial.roles, counts, request.hardware.linkOf(request.ranks));
  double pipeline = work.pipelineSeconds();
  trial.bubble = std::max(0.0, 1 - work.busySeconds / pipeline);
  trial.exchange = {};
  trial.exchange.ranks = request.ranks;
  trial.exchange.microBatchBytes = work.mostSent;
  trial.exchange.microBatchSeconds = work.sendSeconds(work.mostSent);
  trial.exchange.bufferBytes = request.hardware.collectiveBytes(request.ranks);
  if (replicas > 1) {
    trial.exchange.allReduceBytes =
        plan::allReduceBytes(work.gradientBytes, replicas);
    trial.exchange.allReduceSeconds =
        request.hardware.allReduceSeconds(work.gradientBytes, replicas);
  }
  trial.stepSeconds = work.denominatorSeconds + pipeline + work.updateSeconds +
                      trial.exchange.allReduceSeconds;
}

ConsideredChoice StagePlanner::describe(const Trial &trial) const {
  ConsideredChoice choice = front.choices[trial.choice].figures;
  const PlanRole &role = trial.largest();
  choice.isExact = true;
  choice.peakBytes = role.peakBytes();
  choice.overheadBytes = role.overheadBytes;
  choice.classes = role.measure.live.classes;
  choice.stepSeconds = trial.stepSeconds;
  return choice;
}

FailureOr<PlanResult> StagePlanner::choose() {
  llvm::stable_sort(trials, [](const Trial &a, const Trial &b) {
    return a.stepSeconds < b.stepSeconds;
  });
  PlanResult result;
  result.batch = batchOfReplica;
  result.setBudget(request);
  for (const Trial &trial : trials)
    result.considered.push_back(describe(trial));
  auto peakOf = [](const Trial &trial) { return trial.largest().peakBytes(); };
  auto pick = [&](int64_t budget) -> std::optional<size_t> {
    for (auto [index, trial] : llvm::enumerate(trials))
      if (peakOf(trial) <= budget)
        return index;
    return std::nullopt;
  };
  auto smallest =
      llvm::min_element(trials, [&](const Trial &a, const Trial &b) {
        return peakOf(a) < peakOf(b);
      });
  result.smallestBudget = peakOf(*smallest);
  for (int64_t further : request.furtherBudgets)
    result.answers.push_back({further, pick(further)});
  std::optional<size_t> picked = pick(result.budget);
  result.fits = picked.has_value();
  result.taken = picked.value_or(smallest - trials.begin());
  Trial &taken = trials[result.taken];
  const PlanFront::Choice &choice = front.choices[taken.choice];
  result.plan = choice.plan;
  result.shares = front.shares;
  result.exchange = taken.exchange;
  result.stepSeconds = taken.stepSeconds;
  result.stages = {stages, taken.starts, taken.bubble};
  result.roles = std::move(taken.roles);
  for (PlanRole &role : result.roles) {
    role.budget = result.budget;
    role.taken = result.taken;
    role.plan = result.plan;
  }
  int64_t states = 0;
  for (const PlanRole &role : result.roles)
    for (int64_t klass :
         {TTS_CLASS_PARAMETERS, TTS_CLASS_GRADIENTS, TTS_CLASS_OPTIMIZER})
      states += role.measure.live.classes[klass];
  result.eagerBytes = countEagerBytes(module, batchOfReplica,
                                      result.plan.getPrecision(), states);
  return result;
}

FailureOr<PlanResult> tts::planStages(ModuleOp differentiated,
                                      const PlanRequest &request,
                                      int64_t stages) {
  PlanRequest replica = request;
  replica.ranks = request.ranks / stages;
  replica.shardStates = "none";
  replica.optimizerInBackward = "none";
  replica.front = nullptr;
  differentiated->removeAttr(kRanksAttr);
  noteRanks(differentiated, replica);
  FailureOr<PlanFront> front = estimateFront(differentiated, replica);
  noteRanks(differentiated, request);
  if (failed(front))
    return failure();
  return StagePlanner(differentiated, request, stages, std::move(*front)).run();
}

/// Bytes of parameters and what lies beside each, of all stages together; 0
/// where ranks have shards of them.
static int64_t statesOf(const PlanResult &result) {
  int64_t bytes = 0;
  for (int64_t klass : {TTS_CLASS_PARAMETERS, TTS_CLASS_GRADIENTS,
                        TTS_CLASS_OPTIMIZER, TTS_CLASS_EMA})
    bytes += result.role().measure.live.classes[klass];
  return result.choice().stateSharding == "none" ? bytes : 0;
}

PlanResult tts::tryStages(ModuleOp differentiated, const PlanRequest &request,
                          PlanResult result) {
  constexpr int64_t kMostStages = 8;
  for (int64_t stages = 2; stages <= std::min(kMostStages, request.ranks);
       stages *= 2) {
    if (findStageRefusal(differentiated, request, stages) ||
        statesOf(result) / stages > result.budget)
      continue;
    FailureOr<PlanResult> staged = planStages(differentiated, request, stages);
    if (succeeded(staged) &&
        (staged->fits || staged->smallestBudget < result.smallestBudget))
      result = std::move(*staged);
    if (result.fits)
      break;
  }
  return result;
}
