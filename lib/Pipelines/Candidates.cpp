//===- Candidates.cpp - what the planner may choose from -----------------===//

#include "Candidates.h"

#include "mlir/IR/Threading.h"
#include "tts-runtime/Format.h"
#include "tts/Analysis/BucketPrograms.h"
#include "tts/Dialect/Tts/IR/Names.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tts;

LogicalResult Candidates::lower(Trial &trial, TimingScope &timing) {
  PipelineOptions options;
  options.verifyContracts = options.verifyEach = false;
  options.onlyBucket = trial.bucket;
  options.updateInBackward = updateInBackward;
  options.stateSharding = sharding;
  options.prefetch = prefetch;
  options.timing = &timing;
  SmallVector<int64_t> microBatches(buckets.size(), trial.microBatch);
  SmallVector<unsigned> rungs(buckets.size(), 0);
  if (trial.bucket >= 0)
    rungs[trial.bucket] = trial.rung;
  auto lowered = lowerToMemory(module, planOf(microBatches, rungs), options);
  if (failed(lowered))
    return failure();
  trial.measure = measureStep(**lowered, request.hardware, request.threads);
  return success();
}

/// Forward and backward of a bucket at the sample's micro-batch, and the plans
/// for them, thinned.
LogicalResult Candidates::findRungs(int64_t index) {
  Bucket &bucket = buckets[index];
  FloatType half = request.halfTypeOf(precision, module.getContext());
  if (request.remat == "none" && !half)
    return success();
  PipelineOptions options;
  options.verifyContracts = options.verifyEach = false;
  options.onlyBucket = index;
  OwningOpRef<ModuleOp> copy = module.clone();
  SmallVector<int64_t> microBatches(buckets.size(), bucket.large.microBatch);
  (*copy)->setAttr(kPlanAttr, planOf(microBatches, {}));
  if (failed(runPhases(*copy, Phase::Specialize, Phase::Precision, options)))
    return failure();
  auto [forward, backward] = getBucketPrograms(*copy)[index];
  if (!forward || !backward)
    return success();
  const plan::Hardware &hardware = request.hardware;
  bucket.rungs =
      Rungs(forward, backward,
            TimeModel{hardware.flopsPerSecond(precision, request.threads),
                      hardware.bytesPerSecond(request.threads),
                      hardware.entrySeconds, hardware.callSeconds},
            request.remat, half);
  return success();
}

LogicalResult Candidates::prepare() {
  SmallVector<int64_t> microBatches = getMicroBatches();
  loadDialects(*module.getContext(), Phase::Specialize, Phase::Memory);
  TimingScope timing;
  if (request.timing)
    timing = request.timing->nest("candidates");
  Trial shared;
  shared.bucket = PipelineOptions::kNoBucket;
  using Task = std::function<LogicalResult()>;
  SmallVector<Task> first, second;
  if (!updateInBackward) // else every program is the bucket's
    first.push_back([&] { return lower(shared, timing); });
  for (auto [index, bucket] : llvm::enumerate(buckets)) {
    bucket.small.bucket = bucket.large.bucket = bucket.least.bucket = index;
    bucket.small.microBatch = bucket.least.microBatch = microBatches.front();
    bucket.large.microBatch = microBatches.back();
    first.push_back([this, index = index] { return findRungs(index); });
    first.push_back([&] { return lower(bucket.small, timing); });
    if (microBatches.size() > 1)
      first.push_back([&] { return lower(bucket.large, timing); });
    second.push_back([&] {
      bucket.least.rung = bucket.rungs.size() - 1;
      return bucket.least.rung ? lower(bucket.least, timing) : success();
    });
  }
  for (auto *tasks : {&first, &second})
    if (failed(failableParallelForEach(module.getContext(), *tasks,
                                       [](Task &task) { return task(); })))
      return failure();
  if (microBatches.size() == 1)
    for (Bucket &bucket : buckets)
      bucket.large = bucket.small;
  readSettings(shared.measure);
  estimate();
  return success();
}

int64_t tts::countGradientBytes(ModuleOp module, StringRef precision) {
  int64_t elements = 0;
  for (auto program : module.getOps<func::FuncOp>())
    if (auto kind = program->getAttrOfType<StringAttr>(kProgramAttr);
        kind && kind == "zero")
      for (Type type : program.getArgumentTypes())
        elements += cast<RankedTensorType>(type).getNumElements();
  return elements * (precision == "fp64" ? 8 : 4);
}

/// Passes of all parameters or gradients around a ring: an all-reduce is two.
void Candidates::readExchange() {
  int64_t gradients = countGradientBytes(module, precision);
  int64_t ranks = request.ranks;
  int64_t ofUpdate = 2, ofMicroBatch = 0;
  if (sharding == "gradients") // summed as they come, parameters gathered
    ofUpdate = ofMicroBatch = 1;
  else if (sharding == "parameters") // gathered twice
    ofUpdate = 0, ofMicroBatch = 3;
  int64_t bytes = plan::allReduceBytes(gradients, ranks);
  double seconds = request.hardware.allReduceSeconds(gradients, ranks);
  exchange = {ranks,
              bytes * ofUpdate / 2,
              seconds * ofUpdate / 2,
              bytes * ofMicroBatch / 2,
              seconds * ofMicroBatch / 2,
              request.hardware.collectiveBytes(ranks)};
}

void Candidates::readSettings(const StepMeasure &shared) {
  auto states = shared.stateBytes;
  int64_t hostBytes = 0;
  for (const Bucket &bucket : buckets) {
    const StepMeasure &m = bucket.small.measure;
    states.insert(m.stateBytes.begin(), m.stateBytes.end());
    hostBytes = std::max(hostBytes, m.hostBytes[bucket.small.bucket]);
    for (auto [name, bytes] : m.batchBytes)
      inputs.try_emplace(name, inputs.size());
  }
  readExchange();
  settings.batch = batch;
  settings.groups = request.groupsOfRank();
  settings.primitiveBytes = request.hardware.primitiveBytes;
  // The loader holds one update and fetches the next.
  settings.overheadBytes =
      request.hardware.processBytes + exchange.bufferBytes +
      hostUtterances(batch * settings.groups, exchange.ranks) * hostBytes;
  for (auto &[state, bytes] : states) {
    settings.persistentBytes += llvm::alignTo(bytes, TTS_ARENA_ALIGNMENT);
    settings.states[state.first] += bytes;
  }
  settings.liveTransientBytes = shared.live.most - shared.live.persistent;
  settings.transientClasses = shared.transientClasses();
  settings.updateSeconds = shared.updateSeconds() + exchange.allReduceSeconds;
  sharedTransientBytes = shared.arenaBytes - shared.persistentBytes;
}

void Candidates::estimate() {
  for (auto [index, bucket] : llvm::enumerate(buckets)) {
    plan::BucketEstimates &all = estimates.emplace_back();
    all.share = shareOf(index);
    for (int64_t microBatch : getMicroBatches())
      for (unsigned rung = 0; rung < bucket.rungs.size(); ++rung)
        if (bucket.rungs.mayChoose(rung))
          all.estimates.push_back(estimate(bucket, microBatch, rung));
  }
}

/// Bytes that the solver's peak of a rung lacks: none where nothing is computed
/// again, at the other end what was found there (libraries' scratch, which does
/// not fall with the micro-batch), between them in proportion.
double Candidates::countMissing(const Bucket &bucket, unsigned rung) const {
  if (rung == 0)
    return 0;
  double most = bucket.rungs.front().peakBytes();
  double least = bucket.rungs.back().peakBytes();
  double missing = bucket.least.transientBytes() -
                   bucket.small.transientBytes() * least / most;
  double part = (most - bucket.rungs[rung].peakBytes()) / (most - least);
  return std::max(0.0, part * missing);
}

/// Bytes and time of forward and backward are linear in the micro-batch, and
/// fall and rise with the rung as the solver says. The least seconds allow for
/// what was ever seen (docs/planning.md): of the samples' between them and of
/// a sample's beside it, and of the seconds to compute again.
plan::Estimate Candidates::estimate(const Bucket &bucket, int64_t microBatch,
                                    unsigned rung) const {
  constexpr double kBetween = 0.97, kBeside = 0.995, kAgain = 0.8;
  const StepMeasure &low = bucket.small.measure, &high = bucket.large.measure;
  int64_t first = bucket.small.microBatch, last = bucket.large.microBatch;
  double t = first == last ? 0 : double(microBatch - first) / (last - first);
  auto between = [&](double a, double b) { return a + t * (b - a); };
  const plan::RematPlan &remat = bucket.rungs[rung];
  double part = double(std::max<int64_t>(remat.peakBytes(), 1)) /
                std::max<int64_t>(bucket.rungs.front().peakBytes(), 1);
  plan::Estimate e;
  e.microBatch = microBatch;
  e.rung = rung;
  e.transientBytes = std::max({part * between(bucket.small.transientBytes(),
                                              bucket.large.transientBytes()) +
                                   countMissing(bucket, rung),
                               between(low.sideBytes, high.sideBytes),
                               double(sharedTransientBytes)});
  const double lowSeconds = low.microBatchSeconds(bucket.small.bucket);
  const double highSeconds = high.microBatchSeconds(bucket.small.bucket);
  const double kept = between(lowSeconds, highSeconds);
  // The solver's programs are those of the largest micro-batch.
  const double again = remat.seconds * microBatch / last;
  e.microBatchSeconds = kept + again;
  // None between the samples is faster an utterance than both. What is hidden
  // of an exchange does not grow in proportion: there arithmetic is the bound.
  double linear = kept;
  if (prefetch)
    linear -= between(low.waitSeconds(bucket.small.bucket),
                      high.waitSeconds(bucket.small.bucket));
  double least =
      std::max(kBetween * linear,
               microBatch * std::min(lowSeconds / first, highSeconds / last));
  if (microBatch == first || microBatch == last)
    least = rung == 0 ? kept : kBeside * kept;
  e.leastSeconds = least + kAgain * again;
  e.batchBytes.resize(inputs.size());
  for (auto [name, bytes] : low.batchBytes)
    e.batchBytes[inputs.lookup(name)] =
        llvm::alignTo(int64_t(between(bytes, high.batchBytes.lookup(name))),
                      TTS_ARENA_ALIGNMENT);
  return e;
}

/// Buckets whose micro-batches have as many rows share their primitives: then
/// there are not more than those of one bucket.
plan::Search::Fixed Candidates::getFixedBytes() const {
  std::vector<uint64_t> primitives;
  size_t least = 0;
  for (const Bucket &bucket : buckets) {
    llvm::append_range(primitives, bucket.small.measure.primitives);
    least = std::max(least, bucket.small.measure.primitives.size());
  }
  llvm::sort(primitives);
  primitives.erase(llvm::unique(primitives), primitives.end());
  auto bytesOf = [&](size_t count) {
    return settings.primitiveBytes * static_cast<int64_t>(count);
  };
  return {settings.persistentBytes + settings.overheadBytes,
          bytesOf(primitives.size()), bytesOf(least)};
}

plan::Candidate Candidates::makeCandidate(const Trial &trial) const {
  const StepMeasure &m = trial.measure;
  plan::Candidate c;
  c.microBatch = trial.microBatch;
  c.transientBytes = std::max(trial.transientBytes(), sharedTransientBytes);
  c.batchBytes.resize(inputs.size());
  for (auto [name, bytes] : m.batchBytes)
    c.batchBytes[inputs.lookup(name)] = bytes;
  c.primitives = m.primitives;
  c.liveTransientBytes = m.live.most - m.live.persistent;
  c.transientClasses = m.transientClasses();
  c.microBatchSeconds = m.microBatchSeconds(trial.bucket);
  return c;
}

LogicalResult
Candidates::makeExact(ArrayRef<std::pair<unsigned, unsigned>> which) {
  struct Job {
    unsigned estimate;
    Trial trial;
  };
  std::vector<Job> jobs;
  TimingScope timing;
  if (request.timing)
    timing = request.timing->nest("candidates");
  for (auto [index, estimate] : which) {
    Bucket &bucket = buckets[index];
    if (bucket.exact.count(estimate))
      continue;
    const plan::Estimate &e = estimates[index].estimates[estimate];
    const Trial *samples[] = {&bucket.small, &bucket.large, &bucket.least};
    const auto *known = llvm::find_if(samples, [&](const Trial *trial) {
      return trial->microBatch == e.microBatch && trial->rung == e.rung;
    });
    if (known != std::end(samples)) {
      bucket.exact[estimate] = makeCandidate(**known);
      continue;
    }
    Job &job = jobs.emplace_back();
    job.estimate = estimate;
    job.trial.bucket = index;
    job.trial.microBatch = e.microBatch;
    job.trial.rung = e.rung;
  }
  if (failed(failableParallelForEach(module.getContext(), jobs, [&](Job &job) {
        return lower(job.trial, timing);
      })))
    return failure();
  for (const Job &job : jobs)
    buckets[job.trial.bucket].exact[job.estimate] = makeCandidate(job.trial);
  return success();
}

plan::JointChoice Candidates::join(ArrayRef<unsigned> choice) const {
  SmallVector<double> shares;
  SmallVector<const plan::Candidate *> chosen;
  for (auto [index, bucket] : llvm::enumerate(buckets)) {
    shares.push_back(shareOf(index));
    chosen.push_back(&bucket.exact.at(choice[index]));
  }
  return plan::joinCandidates(settings, shares, chosen);
}

/// What is live at the peak above the states: library scratch as in the
/// samples, and what the estimate has besides as activations.
plan::ClassBytes
Candidates::estimateClasses(unsigned index,
                            const plan::Estimate &estimate) const {
  const Trial &low = buckets[index].small, &high = buckets[index].large;
  plan::ClassBytes classes = low.measure.transientClasses();
  int64_t span = high.microBatch - low.microBatch;
  double t = span ? double(estimate.microBatch - low.microBatch) / span : 0;
  int64_t &workspace = classes[TTS_CLASS_WORKSPACE];
  workspace += t * (high.measure.live.classes[TTS_CLASS_WORKSPACE] - workspace);
  workspace = std::min(workspace, estimate.transientBytes);
  classes[TTS_CLASS_ACTIVATIONS] = estimate.transientBytes - workspace;
  return classes;
}

ConsideredChoice Candidates::describe(const plan::JointEstimate &j) const {
  ConsideredChoice choice;
  choice.precision = precision;
  choice.updateInBackward = updateInBackward;
  choice.stateSharding = sharding;
  choice.prefetch = prefetch;
  choice.peakBytes = j.peakBytes;
  choice.stepSeconds = j.stepSeconds;
  SmallVector<int64_t> region(inputs.size(), 0);
  plan::ClassBytes largest = {};
  int64_t transient = 0;
  for (auto [index, estimate] : llvm::enumerate(j.choice)) {
    const plan::Estimate &e = estimates[index].estimates[estimate];
    choice.microBatches.push_back(e.microBatch);
    choice.recomputedParts.push_back(countRecomputedPart(index, e.rung));
    choice.remat = std::max(choice.remat, rematOf(index, e.rung));
    choice.storedValues.push_back(
        buckets[index]
            .rungs.getStore(e.rung, ModuleOp(module).getContext())
            .size());
    for (auto [most, more] : llvm::zip(region, e.batchBytes))
      most = std::max(most, more);
    if (index == 0 || e.transientBytes > transient) {
      transient = e.transientBytes;
      largest = estimateClasses(index, e);
    }
  }
  plan::Search::Fixed fixed = getFixedBytes();
  choice.overheadBytes = settings.overheadBytes + fixed.estimated;
  choice.classes = plan::joinClasses(settings.states, largest, region);
  return choice;
}

ConsideredChoice::Remat Candidates::rematOf(unsigned bucket,
                                            unsigned rung) const {
  // Element-wise ops have no flops of their own.
  constexpr double kNothing = 1e-3;
  using Remat = ConsideredChoice::Remat;
  if (buckets[bucket]
          .rungs.getRecompute(rung, ModuleOp(module).getContext())
          .empty())
    return Remat::None;
  if (countRecomputedPart(bucket, rung) < kNothing)
    return Remat::ElementWise;
  return rung + 1 == buckets[bucket].rungs.size() ? Remat::Most
                                                  : Remat::Partial;
}

PlanAttr Candidates::planOf(ArrayRef<int64_t> microBatches,
                            ArrayRef<unsigned> rungs) const {
  Builder b(ModuleOp(module).getContext());
  SmallVector<Attribute> recompute, store;
  for (auto [bucket, rung] : llvm::zip(buckets, rungs)) {
    recompute.push_back(bucket.rungs.getRecompute(rung, b.getContext()));
    store.push_back(bucket.rungs.getStore(rung, b.getContext()));
  }
  auto unlessEmpty = [&](ArrayRef<Attribute> lists) {
    bool any = llvm::any_of(
        lists, [](Attribute list) { return !cast<ArrayAttr>(list).empty(); });
    return any ? b.getArrayAttr(lists) : ArrayAttr();
  };
  return PlanAttr::get(b.getContext(), b.getStringAttr(precision),
                       request.threads, b.getDenseI64ArrayAttr(microBatches),
                       unlessEmpty(recompute), unlessEmpty(store));
}

PlanAttr Candidates::makePlan(ArrayRef<unsigned> choice) const {
  SmallVector<int64_t> microBatches;
  SmallVector<unsigned> rungs;
  for (auto [bucket, index] : llvm::zip(estimates, choice)) {
    microBatches.push_back(bucket.estimates[index].microBatch);
    rungs.push_back(bucket.estimates[index].rung);
  }
  return planOf(microBatches, rungs);
}

double Candidates::countRecomputedPart(unsigned index, unsigned rung) const {
  return buckets[index].rungs.countRecomputedPart(rung);
}
