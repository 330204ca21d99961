//===- Planning.cpp - from a request to the plan -------------------------===//
//
// Each bucket is lowered at each rung of the micro-batch ladder, for itself,
// and the programs of no bucket once: they share only what persists, so a joint
// peak is a sum and a maximum.
// The winner is lowered whole, and its figures are read off that.
//
//===----------------------------------------------------------------------===//

#include "tts/Pipelines/Planning.h"

#include "mlir/IR/Threading.h"
#include "tts-runtime/Format.h"
#include "tts/Dialect/Tts/IR/Names.h"
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
  /// One bucket at one micro-batch.
  struct Trial {
    int64_t bucket, microBatch;
    StepMeasure measure;

    int64_t transientBytes() const {
      return measure.arenaBytes - measure.persistentBytes;
    }
  };

  LogicalResult readModule();
  LogicalResult evaluate();
  LogicalResult evaluate(Trial &trial, TimingScope &timing);
  int64_t countStateBytes() const;
  plan::Ladder buildLadder() const;
  FailureOr<PlanResult> choose(plan::Ladder ladder);
  LogicalResult finish(PlanResult &result, const plan::JointChoice &choice);

  PlanAttr planOf(ArrayRef<int64_t> microBatches) {
    Builder b(module.getContext());
    return PlanAttr::get(b.getContext(), b.getStringAttr(request.precision),
                         request.threads, b.getDenseI64ArrayAttr(microBatches),
                         /*recompute=*/{});
  }

  double shareOf(int64_t bucket) const {
    return request.bucketShares.empty() ? 1.0 / numBuckets
                                        : request.bucketShares[bucket];
  }

  ModuleOp module;
  const PlanRequest &request;
  int64_t batch = 0, numBuckets = 0;
  SmallVector<int64_t> rungs;
  std::vector<Trial> trials; ///< bucket by bucket, rungs ascending
  Trial shared{PipelineOptions::kNoBucket, 1, {}}; ///< zero and update
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
  batch = batchAttr.getInt();
  numBuckets = buckets.size();
  rungs = plan::microBatchRungs(batch, request.microBatch);
  return success();
}

LogicalResult Planner::evaluate() {
  for (int64_t bucket = 0; bucket < numBuckets; ++bucket)
    for (int64_t rung : rungs)
      trials.push_back({bucket, rung, {}});
  loadDialects(*module.getContext(), Phase::Specialize, Phase::Memory);
  TimingScope timing;
  if (request.timing)
    timing = request.timing->nest("candidates");
  // The largest, which take longest, first.
  SmallVector<Trial *> order;
  for (Trial &trial : trials)
    order.push_back(&trial);
  order.push_back(&shared);
  llvm::stable_sort(order, [](const Trial *a, const Trial *b) {
    return a->microBatch > b->microBatch;
  });
  return failableParallelForEach(module.getContext(), order, [&](Trial *trial) {
    return evaluate(*trial, timing);
  });
}

LogicalResult Planner::evaluate(Trial &trial, TimingScope &timing) {
  PipelineOptions options;
  options.verifyContracts = options.verifyEach = false;
  options.onlyBucket = trial.bucket;
  options.timing = &timing;
  SmallVector<int64_t> microBatches(numBuckets, trial.microBatch);
  auto lowered = lowerToMemory(module, planOf(microBatches), options);
  if (failed(lowered))
    return failure();
  trial.measure = measureStep(**lowered, request.hardware, request.precision,
                              request.threads);
  return success();
}

/// What persists beside the batch, over all programs.
int64_t Planner::countStateBytes() const {
  auto states = shared.measure.stateBytes;
  for (const Trial &trial : trials)
    states.insert(trial.measure.stateBytes.begin(),
                  trial.measure.stateBytes.end());
  int64_t sum = 0;
  for (auto &state : states)
    sum += state.second;
  return sum;
}

plan::Ladder Planner::buildLadder() const {
  llvm::MapVector<StringRef, unsigned> inputs;
  for (const Trial &trial : trials)
    for (auto [name, bytes] : trial.measure.batchBytes)
      inputs.try_emplace(name, inputs.size());

  plan::LadderSettings settings;
  settings.batch = batch;
  settings.primitiveBytes = request.hardware.primitiveBytes;
  settings.overheadBytes = request.hardware.processBytes;
  settings.persistentBytes = countStateBytes();
  settings.updateSeconds = shared.measure.updateSeconds();
  int64_t hostBytes = 0;
  std::vector<plan::BucketCandidates> buckets(numBuckets);
  for (const Trial &trial : trials) {
    const StepMeasure &m = trial.measure;
    plan::Candidate c;
    c.microBatch = trial.microBatch;
    c.transientBytes =
        std::max(trial.transientBytes(), shared.transientBytes());
    c.batchBytes.resize(inputs.size());
    for (auto [name, bytes] : m.batchBytes)
      c.batchBytes[inputs.lookup(name)] = bytes;
    c.primitives = m.primitives;
    c.microBatchSeconds = m.microBatchSeconds(trial.bucket);
    buckets[trial.bucket].share = shareOf(trial.bucket);
    buckets[trial.bucket].candidates.push_back(std::move(c));
    hostBytes = std::max(hostBytes, m.hostBytes[trial.bucket]);
  }
  // The loader holds one update and fetches the next.
  settings.overheadBytes += 2 * batch * hostBytes;
  return plan::Ladder(settings, std::move(buckets));
}

LogicalResult Planner::finish(PlanResult &result,
                              const plan::JointChoice &choice) {
  SmallVector<int64_t> microBatches;
  for (auto [bucket, index] :
       llvm::zip(result.ladder.getBuckets(), choice.candidates))
    microBatches.push_back(bucket.candidates[index].microBatch);
  result.choice = choice;
  result.plan = planOf(microBatches);
  PipelineOptions options;
  options.timing = request.timing;
  auto lowered = lowerToMemory(module, result.plan, options);
  if (failed(lowered))
    return failure();
  result.lowered = std::move(*lowered);
  result.measure = measureStep(*result.lowered, request.hardware,
                               request.precision, request.threads);
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
  return success();
}

FailureOr<PlanResult> Planner::choose(plan::Ladder ladder) {
  PlanResult result(std::move(ladder));
  int64_t offered = request.hardware.offeredBytes;
  int64_t asked = request.budget.value_or(offered);
  result.isClamped = asked > offered;
  result.budget = std::min(asked, offered);
  result.smallestBudget = result.ladder.front().front().peakBytes();
  const plan::JointChoice *choice = result.ladder.pick(result.budget);
  result.fits = choice;
  if (failed(finish(result, choice ? *choice : result.ladder.front().front())))
    return failure();
  const auto &classes = result.measure.live.classes;
  int64_t states = classes[TTS_CLASS_PARAMETERS] +
                   classes[TTS_CLASS_GRADIENTS] + classes[TTS_CLASS_OPTIMIZER] +
                   classes[TTS_CLASS_EMA];
  result.eagerBytes = countEagerBytes(module, batch, request.precision, states);
  return result;
}

FailureOr<PlanResult> Planner::run() {
  if (failed(readModule()) || failed(evaluate()))
    return failure();
  return choose(buildLadder());
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

FailureOr<PlanResult> tts::makePlan(ModuleOp differentiated,
                                    const PlanRequest &request) {
  noteConvTimes(differentiated, request.hardware);
  return Planner(differentiated, request).run();
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
  int64_t ema = result.measure.live.classes[TTS_CLASS_EMA];
  os << "; cheapest way out: ";
  if (ema >= lacking)
    os << "train without EMA (" << ema << " bytes) or ";
  os << "raise --memory-budget by " << lacking << " bytes";
  return text;
}
