//===- Planning.cpp - from a request to the plan -------------------------===//
//
// Choices are ordered by estimates (Candidates, plan::Search) into a front that
// knows no budget; those that may be the answer are lowered bucket by bucket:
// buckets share only what persists, so a joint peak is a sum and a maximum. The
// winner is lowered whole, and its figures are read off that.
//
//===----------------------------------------------------------------------===//

#include "Candidates.h"
#include "WayOut.h"

#include "tts-runtime/Format.h"
#include "tts/Analysis/EagerBytes.h"
#include "tts/Dialect/Tts/IR/Names.h"
#include "tts/Dialect/Tts/IR/UpdateInBackward.h"
#include "tts/Pipelines/Stages.h"
#include "tts/Pipelines/UpdatePlace.h"
#include "tts/Pipelines/WholeBatch.h"
#include "tts/Transforms/Plan/ByteSize.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tts;

namespace {

/// The joint figures of a plan that was lowered whole.
plan::JointChoice joinWhole(const PlanFront::Group &group,
                            ArrayRef<double> shares,
                            ArrayRef<int64_t> microBatches,
                            const StepMeasure &measure) {
  const plan::JointSettings &settings = group.settings;
  plan::JointChoice joint;
  joint.arenaBytes = measure.arenaBytes;
  joint.overheadBytes =
      settings.overheadBytes +
      settings.primitiveBytes * static_cast<int64_t>(measure.primitives.size());
  joint.classes = measure.live.classes;
  joint.lowerBoundBytes = measure.live.most;
  joint.stepSeconds = settings.updateSeconds;
  for (unsigned bucket = 0; bucket < shares.size(); ++bucket)
    joint.microBatchSeconds.push_back(measure.microBatchSeconds(bucket));
  for (auto [bucket, share] : llvm::enumerate(shares))
    joint.stepSeconds +=
        joint.microBatchSeconds[bucket] * settings.groups *
        plan::expectedMicroBatches(settings.batch, share, microBatches[bucket]);
  return joint;
}

class Planner {
public:
  Planner(ModuleOp module, const PlanRequest &request)
      : module(module), request(request),
        front(request.front ? *request.front : ownFront) {}

  FailureOr<PlanResult> run();
  /// Estimates only.
  LogicalResult prepare() {
    return failure(failed(readModule()) || failed(fillFront()));
  }
  PlanFront takeFront() { return std::move(front); }
  /// After a failure: the front that was given is another compiler's.
  bool isFrontStale() const { return isStale; }

private:
  LogicalResult readModule();
  SmallVector<StringRef> getPrecisions() const;
  SmallVector<bool> getUpdatePlaces() const;
  SmallVector<StringRef> getShardings() const;
  LogicalResult fillFront();
  LogicalResult makeExact(ArrayRef<size_t> indices);
  LogicalResult makeExactWhole(size_t index);
  LogicalResult lowerWhole(size_t index);
  std::vector<plan::ExactFigures> getExact(ArrayRef<size_t> indices);
  FailureOr<PlanResult> choose();
  FailureOr<size_t> pickInGroup(unsigned group, int64_t budget);
  LogicalResult addRoles(PlanResult &result);
  LogicalResult addRole(PlanResult &result, size_t index, int64_t budget,
                        ArrayRef<int64_t> ranks);
  void finish(PlanResult &result);

  ModuleOp module;
  const PlanRequest &request;
  /// Utterances that a rank cuts into micro-batches together.
  int64_t batch = 0;
  int64_t batchOfRank = 0, numBuckets = 0;
  /// By the front's group; none where the front was given.
  std::vector<std::unique_ptr<Candidates>> candidates;
  PlanFront ownFront, &front;
  /// The choice lowered last, whole.
  std::optional<size_t> lowered;
  OwningOpRef<ModuleOp> program;
  StepMeasure measure;
  bool isStale = false;
};

} // namespace

LogicalResult Planner::readModule() {
  auto batchAttr = module->getAttrOfType<IntegerAttr>(kBatchAttr);
  auto buckets = module->getAttrOfType<ArrayAttr>(kBucketsAttr);
  if (!batchAttr || batchAttr.getInt() < 1)
    return module.emitError("has no tts.batch; give --batch=B");
  if (!buckets || buckets.empty())
    return module.emitError("has no tts.buckets; give --bucket=…");
  for (auto function : module.getOps<func::FuncOp>()) {
    auto kind = function->getAttrOfType<StringAttr>(kProgramAttr);
    if (kind && kind.getValue() == "train")
      return function.emitError(
          "is not differentiated yet; run tts-differentiate first");
  }
  batchOfRank = shareOfBatch(batchAttr.getInt(), request.ranks);
  batch =
      shareOfBatch(batchAttr.getInt(), request.ranks * request.groupsOfRank());
  numBuckets = buckets.size();
  return success();
}

/// bf16 is worth its rounding where products are several times as fast, on a
/// GPU's matrix units. On a CPU a user has to ask for it: one model compiled on
/// two hosts must not round differently because one of them has such units.
SmallVector<StringRef> Planner::getPrecisions() const {
  constexpr double kWorth = 3;
  if (request.precision != "auto")
    return {request.precision};
  auto rate = [&](StringRef precision) {
    return request.hardware.flopsPerSecond(precision, request.threads);
  };
  if (!request.hardware.isGpu || rate("bf16") < kWorth * rate("fp32"))
    return {"fp32"};
  return {"fp32", "bf16"};
}

/// Whether parameters may be updated in backward, apart from it, or both.
SmallVector<bool> Planner::getUpdatePlaces() const {
  if (request.optimizerInBackward == "none")
    return {false};
  if (request.optimizerInBackward == "on")
    return {true};
  if (findSeveralMicroBatches(module, request))
    return {false};
  return {false, true};
}

/// makePlan tries "auto" without shards first.
SmallVector<StringRef> Planner::getShardings() const {
  if (request.ranks == 1)
    return {"none"};
  if (request.shardStates != "auto")
    return {request.shardStates};
  // Within a micro-batch there is no order that different plans exchange in.
  if (!request.budgets.empty())
    return {"none", "optimizer"};
  return {"none", "optimizer", "gradients", "parameters"};
}

/// What is exchanged in a micro-batch may overlap with it, for some bytes.
static SmallVector<int64_t> getPrefetches(StringRef sharding) {
  if (sharding == "none" || sharding == "optimizer")
    return {0};
  return {0, 1};
}

/// Candidates of every precision, place of the update, sharding and prefetch,
/// and the choices among them, estimated.
LogicalResult Planner::fillFront() {
  std::vector<plan::Search> searches;
  front.isNew = true;
  for (StringRef precision : getPrecisions())
    for (bool updateInBackward : getUpdatePlaces())
      for (StringRef sharding : getShardings())
        for (int64_t prefetch : getPrefetches(sharding))
          candidates.push_back(std::make_unique<Candidates>(
              module, request, precision, updateInBackward, sharding, prefetch,
              batch, numBuckets));
  for (auto &c : candidates) {
    if (failed(c->prepare()))
      return failure();
    searches.emplace_back(batch, c->getFixedBytes(),
                          c->getSettings().updateSeconds, c->getEstimates());
    front.groups.push_back({c->getSettings(), c->getExchange()});
  }
  for (const plan::BucketEstimates &bucket : candidates.front()->getEstimates())
    front.shares.push_back(bucket.share);
  plan::Search search = plan::Search::merge(searches);
  for (const plan::JointEstimate &j : search.choices()) {
    const Candidates &c = *candidates[j.group];
    front.choices.push_back({j, c.makePlan(j.choice), c.describe(j)});
  }
  // One that is kept is made whole, so that the next budget is a look-up.
  if (!request.front)
    return success();
  return makeExact(llvm::to_vector(llvm::seq(front.choices.size())));
}

/// All buckets at once, and the joint figures from that.
LogicalResult Planner::lowerWhole(size_t index) {
  if (lowered == index)
    return success();
  lowered.reset();
  PlanAttr plan = front.choices[index].plan;
  PipelineOptions options;
  options.timing = request.timing;
  options.updateInBackward = front.choices[index].figures.updateInBackward;
  options.stateSharding = front.choices[index].figures.stateSharding;
  options.prefetch = front.choices[index].figures.prefetch;
  auto whole = lowerToMemory(module, plan, options);
  if (failed(whole))
    return failure();
  program = std::move(*whole);
  measure = measureStep(*program, request.hardware, request.threads);
  lowered = index;
  return success();
}

LogicalResult Planner::makeExactWhole(size_t index) {
  PlanFront::Choice &choice = front.choices[index];
  if (choice.figures.isExact)
    return success();
  if (failed(lowerWhole(index)))
    return failure();
  choice.figures.setExact(joinWhole(front.groups[choice.estimate.group],
                                    front.shares, choice.plan.getMicroBatches(),
                                    measure));
  return success();
}

/// Bucket by bucket where the candidates are at hand: they have most of them.
/// Not where buckets exchange in one sequence, which depends on all of them.
LogicalResult Planner::makeExact(ArrayRef<size_t> indices) {
  auto areApart = [&](size_t index) {
    size_t group = front.choices[index].estimate.group;
    return !candidates.empty() && candidates[group]->hasBucketsApart();
  };
  for (size_t index : indices)
    if (!areApart(index) && failed(makeExactWhole(index)))
      return failure();
  for (auto [group, from] : llvm::enumerate(candidates)) {
    SmallVector<PlanFront::Choice *> missing;
    llvm::SetVector<std::pair<unsigned, unsigned>> which;
    for (size_t index : indices) {
      PlanFront::Choice &choice = front.choices[index];
      if (choice.figures.isExact || choice.estimate.group != group)
        continue;
      missing.push_back(&choice);
      for (auto [bucket, estimate] : llvm::enumerate(choice.estimate.choice))
        which.insert({bucket, estimate});
    }
    if (failed(from->makeExact(which.getArrayRef())))
      return failure();
    for (PlanFront::Choice *choice : missing)
      choice->figures.setExact(from->join(choice->estimate.choice));
  }
  return success();
}

/// None where one cannot be lowered.
std::vector<plan::ExactFigures> Planner::getExact(ArrayRef<size_t> indices) {
  std::vector<plan::ExactFigures> figures;
  if (failed(makeExact(indices)))
    return figures;
  for (size_t index : indices) {
    const ConsideredChoice &found = front.choices[index].figures;
    figures.push_back({found.peakBytes, found.stepSeconds});
  }
  return figures;
}

FailureOr<PlanResult> Planner::choose() {
  std::vector<plan::JointEstimate> estimates;
  for (const PlanFront::Choice &choice : front.choices)
    estimates.push_back(choice.estimate);
  plan::Search search(std::move(estimates));
  auto indexOf = [&](const plan::JointEstimate *j) -> size_t {
    return j - search.choices().data();
  };
  auto exact = [&](const plan::Search::Choices &few) {
    return getExact(llvm::map_to_vector(few, indexOf));
  };
  PlanResult result;
  result.batch = batchOfRank;
  result.setBudget(request);
  plan::Search::Smallest smallest = search.findSmallest(exact);
  if (!smallest.choice)
    return failure();
  result.smallestBudget = smallest.budget;
  const plan::JointEstimate *picked = search.pick(result.budget, exact);
  for (int64_t further : request.furtherBudgets) {
    BudgetAnswer &answer = result.answers.emplace_back();
    answer.budget = further;
    if (const plan::JointEstimate *found = search.pick(further, exact))
      answer.choice = indexOf(found);
  }
  result.fits = picked;
  result.taken = indexOf(picked ? picked : smallest.choice);
  if (failed(makeExact(result.taken)) || failed(addRoles(result)))
    return failure();
  finish(result);
  return result;
}

/// The fastest of a group that fits.
FailureOr<size_t> Planner::pickInGroup(unsigned group, int64_t budget) {
  std::vector<plan::JointEstimate> estimates;
  SmallVector<size_t> indices;
  for (auto [index, choice] : llvm::enumerate(front.choices))
    if (choice.estimate.group == group) {
      estimates.push_back(choice.estimate);
      indices.push_back(index);
    }
  plan::Search search(std::move(estimates));
  auto indexOf = [&](const plan::JointEstimate *j) {
    return indices[j - search.choices().data()];
  };
  auto exact = [&](const plan::Search::Choices &few) {
    return getExact(llvm::map_to_vector(few, indexOf));
  };
  const plan::JointEstimate *picked = search.pick(budget, exact);
  if (!picked)
    return failure();
  return indexOf(picked);
}

/// One role, or one for each budget, in the order of their first ranks. The
/// least budget decides what all have in common: precision and shards.
LogicalResult Planner::addRoles(PlanResult &result) {
  llvm::MapVector<int64_t, SmallVector<int64_t>> ranksOf;
  for (auto [rank, asked] : llvm::enumerate(request.budgets)) {
    ranksOf[std::min(asked, result.offered)].push_back(rank);
    result.isClamped |= asked > result.offered;
  }
  if (!result.fits || ranksOf.size() < 2)
    return addRole(result, result.taken, result.budget,
                   llvm::to_vector(llvm::seq(request.ranks)));
  unsigned group = front.choices[result.taken].estimate.group;
  for (auto &[budget, ranks] : ranksOf) {
    FailureOr<size_t> index = pickInGroup(group, budget);
    if (failed(index) || failed(makeExact(*index)) ||
        failed(addRole(result, *index, budget, ranks)))
      return failure();
  }
  return success();
}

/// What can be told of a choice that was looked up and is not lowered.
static StepMeasure recallMeasure(const ConsideredChoice &figures) {
  StepMeasure measure;
  measure.arenaBytes = figures.arenaBytes();
  measure.live.most = figures.lowerBoundBytes;
  measure.live.classes = figures.classes;
  for (auto [bucket, seconds] : llvm::enumerate(figures.microBatchSeconds))
    measure.seconds[{TTS_PROGRAM_FORWARD, bucket}] = seconds;
  return measure;
}

LogicalResult Planner::addRole(PlanResult &result, size_t index, int64_t budget,
                               ArrayRef<int64_t> ranks) {
  const PlanFront::Choice &choice = front.choices[index];
  const ConsideredChoice &figures = choice.figures;
  const bool isRecalled =
      !front.isNew && result.fits && !request.needsProgram && figures.isExact;
  if (isRecalled)
    measure = recallMeasure(figures);
  else if (failed(lowerWhole(index)))
    return failure();
  if (measure.arenaBytes != figures.arenaBytes()) {
    isStale = candidates.empty();
    return isStale ? failure()
                   : module.emitError("the plan's arena of ")
                         << figures.arenaBytes() << " bytes was packed into "
                         << measure.arenaBytes
                         << "; this is a fault of the compiler, please report "
                            "it";
  }
  PlanRole &role = result.roles.emplace_back();
  llvm::append_range(role.ranks, ranks);
  role.budget = budget;
  role.taken = index;
  role.plan = choice.plan;
  role.overheadBytes = figures.overheadBytes;
  role.lowered = std::move(program);
  role.measure = std::move(measure);
  lowered.reset();
  if (!isRecalled)
    role.hostBufferBytes =
        hostUtterances(batch * request.groupsOfRank(), request.ranks) *
        *std::max_element(role.measure.hostBytes.begin(),
                          role.measure.hostBytes.end());
  return success();
}

/// What is known once all roles are.
void Planner::finish(PlanResult &result) {
  const PlanRole &role = result.role();
  result.plan = role.plan;
  result.taken = role.taken;
  result.budget = role.budget;
  result.exchange =
      front.groups[front.choices[role.taken].estimate.group].exchange;
  result.shares = front.shares;
  for (const PlanFront::Choice &considered : front.choices)
    result.considered.push_back(considered.figures);
  // They wait for the slowest.
  for (const PlanRole &each : result.roles)
    result.stepSeconds =
        std::max(result.stepSeconds, result.considered[each.taken].stepSeconds);
  const auto &classes = role.measure.live.classes;
  // Without EMA, which many keep elsewhere: the comparison favours the others.
  int64_t states = classes[TTS_CLASS_PARAMETERS] +
                   countGradientBytes(module, result.plan.getPrecision()) +
                   classes[TTS_CLASS_OPTIMIZER];
  result.eagerBytes =
      countEagerBytes(module, batchOfRank, result.plan.getPrecision(), states);
}

const PlanRole &tts::findLargest(ArrayRef<PlanRole> roles) {
  return *llvm::max_element(roles, [](const PlanRole &a, const PlanRole &b) {
    return a.peakBytes() < b.peakBytes();
  });
}

void PlanResult::setBudget(const PlanRequest &request) {
  offered = request.hardware.offeredBytes;
  int64_t asked = request.budget.value_or(offered);
  isClamped = asked > offered;
  budget = std::min(asked, offered);
}

FailureOr<PlanResult> Planner::run() {
  if (failed(readModule()))
    return failure();
  if (front.choices.empty() && failed(fillFront()))
    return failure();
  return choose();
}

FailureOr<PlanFront> tts::estimateFront(ModuleOp differentiated,
                                        const PlanRequest &request) {
  Planner planner(differentiated, request);
  if (failed(planner.prepare()))
    return failure();
  return planner.takeFront();
}

FailureOr<PlanResult> tts::makePlan(ModuleOp differentiated,
                                    const PlanRequest &request) {
  noteConvTimes(differentiated, request.hardware);
  noteRanks(differentiated, request);
  if (auto split = findSplitBatch(differentiated, request))
    return emitError(split->place) << split->what << "; " << split->todo;
  if (auto refusal = findUpdateRefusal(differentiated, request))
    return differentiated.emitError(
               "parameters cannot be updated in backward: ")
           << refusal->what << "; " << refusal->todo;
  if (request.stages.value_or(1) > 1) {
    if (auto refusal =
            findStageRefusal(differentiated, request, *request.stages))
      return differentiated.emitError("there can be no stages: ")
             << refusal->what << "; " << refusal->todo;
    return planStages(differentiated, request, *request.stages);
  }
  PlanRequest pinned = request;
  auto batch = differentiated->getAttrOfType<IntegerAttr>(kBatchAttr);
  bool isWhole = batch && findWholeBatchOp(differentiated);
  if (isWhole)
    pinned.microBatch = batch.getInt();
  // The norm of shards is rounded otherwise than that of whole gradients.
  bool mayShard = request.ranks > 1 && request.shardStates == "auto" &&
                  !request.deterministic;
  if (request.shardStates == "auto")
    pinned.shardStates = "none";
  Planner planner(differentiated, pinned);
  FailureOr<PlanResult> result = planner.run();
  if (failed(result) && planner.isFrontStale()) {
    *request.front = {};
    result = Planner(differentiated, pinned).run();
  }
  if (succeeded(result) && !result->fits && mayShard) {
    pinned.shardStates = "auto";
    pinned.front = nullptr;
    result = Planner(differentiated, pinned).run();
  }
  if (succeeded(result) && !result->fits && request.ranks > 1 &&
      !request.stages)
    result = tryStages(differentiated, request, std::move(*result));
  if (succeeded(result) && !result->fits && request.seeksWayOut) {
    auto fits = [&](const PlanRequest &freer) {
      FailureOr<PlanResult> found = Planner(differentiated, freer).run();
      return succeeded(found) && found->fits;
    };
    result->wayOut =
        findWayOut(pinned, *result, pinned.microBatch && !isWhole, fits);
  }
  return result;
}
