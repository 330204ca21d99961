//===- Planning.cpp - from a request to the plan -------------------------===//
//
// Choices are ordered by estimates (Candidates, plan::Search); those that may
// be the answer are lowered bucket by bucket: buckets share only what persists,
// so a joint peak is a sum and a maximum. The winner is lowered whole, and its
// figures are read off that.
//
//===----------------------------------------------------------------------===//

#include "Candidates.h"

#include "tts-runtime/Format.h"
#include "tts/Analysis/EagerBytes.h"
#include "tts/Dialect/Tts/IR/Names.h"
#include "tts/Pipelines/WholeBatch.h"
#include "tts/Transforms/Plan/ByteSize.h"

using namespace mlir;
using namespace tts;

namespace {

class Planner {
public:
  Planner(ModuleOp module, const PlanRequest &request)
      : module(module), request(request) {}

  FailureOr<PlanResult> run();

private:
  LogicalResult readModule();
  SmallVector<StringRef> getPrecisions() const;
  LogicalResult makeExact(const plan::JointEstimate &choice);
  FailureOr<PlanResult> choose();
  LogicalResult finish(PlanResult &result, const plan::JointChoice &choice);

  /// Where a choice comes from.
  Candidates &candidatesOf(const plan::JointEstimate &choice) {
    return *candidates[choice.group];
  }

  ModuleOp module;
  const PlanRequest &request;
  int64_t batch = 0, numBuckets = 0; ///< the batch is a rank's share
  std::vector<std::unique_ptr<Candidates>> candidates; ///< by precision
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
  batch = shareOfBatch(batchAttr.getInt(), request.ranks);
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

LogicalResult Planner::makeExact(const plan::JointEstimate &choice) {
  SmallVector<std::pair<unsigned, unsigned>> which;
  for (auto [bucket, estimate] : llvm::enumerate(choice.choice))
    which.push_back({bucket, estimate});
  return candidatesOf(choice).makeExact(which);
}

FailureOr<PlanResult> Planner::choose() {
  std::vector<plan::Search> searches;
  for (auto &c : candidates)
    searches.emplace_back(batch, c->getFixedBytes(),
                          c->getSettings().updateSeconds, c->getEstimates());
  plan::Search search = plan::Search::merge(searches);
  auto exact =
      [&](const plan::JointEstimate &choice) -> std::optional<int64_t> {
    if (failed(makeExact(choice)))
      return {};
    return candidatesOf(choice).join(choice.choice).peakBytes();
  };
  int64_t offered = request.hardware.offeredBytes;
  int64_t asked = request.budget.value_or(offered);
  int64_t budget = std::min(asked, offered);
  plan::Search::Smallest smallest = search.findSmallest(exact);
  if (!smallest.choice)
    return failure();
  const plan::JointEstimate *picked = search.pick(budget, exact);
  std::vector<BudgetAnswer> answers;
  for (int64_t further : request.furtherBudgets) {
    BudgetAnswer &answer = answers.emplace_back();
    answer.budget = further;
    if (const plan::JointEstimate *found = search.pick(further, exact))
      answer.choice = found - search.choices().data();
  }
  const plan::JointEstimate &choice = picked ? *picked : *smallest.choice;
  if (failed(makeExact(choice)))
    return failure();

  PlanResult result;
  result.batch = batch;
  Candidates &from = candidatesOf(choice);
  result.exchange = from.getExchange();
  for (const plan::BucketEstimates &bucket : from.getEstimates())
    result.shares.push_back(bucket.share);
  for (const plan::JointEstimate &j : search.choices())
    result.considered.push_back(candidatesOf(j).describe(j));
  result.taken = &choice - search.choices().data();
  result.plan = from.makePlan(choice.choice);
  result.fits = picked;
  result.isClamped = asked > offered;
  result.budget = budget;
  result.offered = offered;
  result.answers = std::move(answers);
  result.smallestBudget = smallest.budget;
  if (failed(finish(result, from.join(choice.choice))))
    return failure();
  return result;
}

LogicalResult Planner::finish(PlanResult &result,
                              const plan::JointChoice &choice) {
  PipelineOptions options;
  options.timing = request.timing;
  auto lowered = lowerToMemory(module, result.plan, options);
  if (failed(lowered))
    return failure();
  result.lowered = std::move(*lowered);
  result.measure = measureStep(*result.lowered, request.hardware,
                               result.plan.getPrecision(), request.threads);
  if (result.measure.arenaBytes != choice.arenaBytes)
    return module.emitError("the plan's arena of ")
           << choice.arenaBytes << " bytes was packed into "
           << result.measure.arenaBytes
           << "; this is a fault of the compiler, please report it";
  result.hostBufferBytes = 2 * batch *
                           *std::max_element(result.measure.hostBytes.begin(),
                                             result.measure.hostBytes.end());
  result.overheadBytes = choice.overheadBytes;
  result.stepSeconds = choice.stepSeconds;
  const auto &classes = result.measure.live.classes;
  // Without EMA, which many keep elsewhere: the comparison favours the others.
  int64_t states = classes[TTS_CLASS_PARAMETERS] +
                   classes[TTS_CLASS_GRADIENTS] + classes[TTS_CLASS_OPTIMIZER];
  result.eagerBytes =
      countEagerBytes(module, batch, result.plan.getPrecision(), states);
  return success();
}

FailureOr<PlanResult> Planner::run() {
  if (failed(readModule()))
    return failure();
  for (StringRef precision : getPrecisions()) {
    candidates.push_back(std::make_unique<Candidates>(
        module, request, precision, batch, numBuckets));
    if (failed(candidates.back()->prepare()))
      return failure();
  }
  return choose();
}

/// What the phases after Plan are to know of the machine's convolutions.
static void noteConvTimes(ModuleOp module, const plan::Hardware &hardware) {
  Builder builder(module.getContext());
  SmallVector<Attribute> rows;
  for (const plan::ConvTime &t : hardware.convTimes)
    rows.push_back(builder.getDenseI64ArrayAttr(
        {t.transpose, t.rows, t.in, t.out, t.taps, t.productsNs, t.libraryNs}));
  module->setAttr(kConv1dTimesAttr, builder.getArrayAttr(rows));
}

/// What was pinned and, left to the planner, gives a plan; the least first.
static std::string findWayOut(ModuleOp module, const PlanRequest &request,
                              bool hasMicroBatch) {
  bool hasRemat = request.remat != "auto";
  for (auto [frees, freesRemat] :
       {std::pair(false, true), {true, false}, {true, true}}) {
    if ((frees && !hasMicroBatch) || (freesRemat && !hasRemat))
      continue;
    PlanRequest freer = request;
    freer.furtherBudgets.clear();
    freer.timing = nullptr;
    std::string text = "leave out";
    if (freesRemat) {
      text += " --remat=" + request.remat;
      freer.remat = "auto";
    }
    if (frees) {
      text += (freesRemat ? " and" : "");
      text += " --micro-batch=" + std::to_string(*request.microBatch);
      freer.microBatch.reset();
    }
    FailureOr<PlanResult> result = Planner(module, freer).run();
    if (succeeded(result) && result->fits)
      return text;
  }
  return "";
}

FailureOr<PlanResult> tts::makePlan(ModuleOp differentiated,
                                    const PlanRequest &request) {
  noteConvTimes(differentiated, request.hardware);
  if (auto split = findSplitBatch(differentiated, request))
    return emitError(split->place) << split->what << "; " << split->todo;
  PlanRequest pinned = request;
  auto batch = differentiated->getAttrOfType<IntegerAttr>(kBatchAttr);
  bool isWhole = batch && findWholeBatchOp(differentiated);
  if (isWhole)
    pinned.microBatch = batch.getInt();
  FailureOr<PlanResult> result = Planner(differentiated, pinned).run();
  if (succeeded(result) && !result->fits)
    result->wayOut =
        findWayOut(differentiated, pinned, pinned.microBatch && !isWhole);
  return result;
}

void tts::notePlan(ModuleOp module, const PlanResult &result) {
  module->setAttr(kPlanAttr, result.plan);
  if (result.exchange.ranks > 1)
    module->setAttr(
        kRanksAttr,
        Builder(module.getContext()).getI64IntegerAttr(result.exchange.ranks));
}

int64_t tts::shareOfBatch(int64_t batch, int64_t ranks) {
  return llvm::divideCeil(batch, ranks);
}

std::string tts::explainInfeasible(const PlanResult &result) {
  // The largest classes of the smallest plan, overhead among them.
  SmallVector<std::pair<int64_t, StringRef>> classes = {
      {result.overheadBytes, "overhead"}};
  for (unsigned klass = 0; klass < plan::kNumClasses; ++klass)
    classes.push_back(
        {result.measure.live.classes[klass], plan::className(klass)});
  llvm::stable_sort(
      classes, [](const auto &a, const auto &b) { return a.first > b.first; });
  std::string text;
  llvm::raw_string_ostream os(text);
  int64_t lacking = result.smallestBudget - result.budget;
  os << "smallest feasible budget: " << result.smallestBudget << " bytes ("
     << llvm::format("%.3f", result.smallestBudget / 0x1p30) << " GiB, "
     << lacking << " more than allowed), bound by ";
  llvm::interleaveComma(ArrayRef(classes).take_front(3), os,
                        [&](auto &c) { os << c.second << " " << c.first; });
  os << "; cheapest way out: ";
  if (!result.wayOut.empty())
    os << result.wayOut << " or ";
  int64_t ema = result.measure.live.classes[TTS_CLASS_EMA];
  if (ema >= lacking)
    os << "train without EMA (" << ema << " bytes) or ";
  if (result.smallestBudget <= result.offered)
    os << "raise --memory-budget by " << lacking << " bytes";
  else
    os << "take hardware that offers " << result.smallestBudget
       << " bytes, this one offers " << result.offered;
  return text;
}
