//===- Candidates.cpp - what the planner may choose from -----------------===//

#include "Candidates.h"

#include "mlir/IR/Threading.h"
#include "tts-runtime/Format.h"
#include "tts/Dialect/Tts/IR/Names.h"

using namespace mlir;
using namespace tts;

/// Rungs closer than this in bytes are one.
constexpr double kRungSpacing = 0.96;

LogicalResult Candidates::lower(Trial &trial, TimingScope &timing) {
  PipelineOptions options;
  options.verifyContracts = options.verifyEach = false;
  options.onlyBucket = trial.bucket;
  options.timing = &timing;
  SmallVector<int64_t> microBatches(buckets.size(), trial.microBatch);
  SmallVector<unsigned> rungs(buckets.size(), 0);
  if (trial.bucket >= 0)
    rungs[trial.bucket] = trial.rung;
  auto lowered = lowerToMemory(module, planOf(microBatches, rungs), options);
  if (failed(lowered))
    return failure();
  trial.measure = measureStep(**lowered, request.hardware, request.precision,
                              request.threads);
  return success();
}

/// Forward and backward of a bucket at the sample's micro-batch, and the plans
/// for them, thinned.
LogicalResult Candidates::findRungs(int64_t index) {
  Bucket &bucket = buckets[index];
  bucket.rungs.assign(1, {}); // nothing computed again
  if (request.remat == "none")
    return success();
  PipelineOptions options;
  options.verifyContracts = options.verifyEach = false;
  options.onlyBucket = index;
  OwningOpRef<ModuleOp> copy = module.clone();
  SmallVector<int64_t> microBatches(buckets.size(), bucket.sample.microBatch);
  (*copy)->setAttr(kPlanAttr, planOf(microBatches, {}));
  if (failed(runPhases(*copy, Phase::Specialize, Phase::Precision, options)))
    return failure();
  func::FuncOp forward, backward;
  for (auto program : copy->getOps<func::FuncOp>()) {
    auto kind = program->getAttrOfType<StringAttr>(kProgramAttr);
    if (kind && kind.getValue() == "forward")
      forward = program;
    if (kind && kind.getValue() == "backward")
      backward = program;
  }
  if (!forward || !backward)
    return success();
  const plan::Hardware &hardware = request.hardware;
  bucket.graph = std::make_unique<RematGraph>(
      forward, backward,
      TimeModel{hardware.flopsPerSecond(request.precision, request.threads),
                hardware.bytesPerSecond(request.threads), hardware.entrySeconds,
                hardware.callSeconds});
  std::vector<plan::RematPlan> rungs =
      plan::solveRemat(bucket.graph->getProblem());
  if (rungs.empty())
    return success();
  bucket.rungs = {rungs.front()};
  for (size_t i = 1; i < rungs.size(); ++i)
    if (i + 1 == rungs.size() ||
        rungs[i].peakBytes() < kRungSpacing * bucket.rungs.back().peakBytes())
      bucket.rungs.push_back(std::move(rungs[i]));
  return success();
}

LogicalResult Candidates::prepare() {
  SmallVector<int64_t> microBatches =
      plan::microBatchRungs(batch, request.microBatch);
  loadDialects(*module.getContext(), Phase::Specialize, Phase::Memory);
  TimingScope timing;
  if (request.timing)
    timing = request.timing->nest("candidates");
  Trial shared;
  shared.bucket = PipelineOptions::kNoBucket;
  SmallVector<std::function<LogicalResult()>> tasks;
  for (auto [index, bucket] : llvm::enumerate(buckets)) {
    bucket.sample.bucket = index;
    bucket.sample.microBatch = microBatches[microBatches.size() / 2];
    tasks.push_back([this, index = index] { return findRungs(index); });
    tasks.push_back([&] { return lower(bucket.sample, timing); });
  }
  tasks.push_back([&] { return lower(shared, timing); });
  if (failed(failableParallelForEach(module.getContext(), tasks,
                                     [](auto &task) { return task(); })))
    return failure();
  readSettings(shared.measure);
  estimate();
  return success();
}

void Candidates::readSettings(const StepMeasure &shared) {
  auto states = shared.stateBytes;
  int64_t hostBytes = 0;
  for (const Bucket &bucket : buckets) {
    const StepMeasure &m = bucket.sample.measure;
    states.insert(m.stateBytes.begin(), m.stateBytes.end());
    hostBytes = std::max(hostBytes, m.hostBytes[bucket.sample.bucket]);
    for (auto [name, bytes] : m.batchBytes)
      inputs.try_emplace(name, inputs.size());
  }
  settings.batch = batch;
  settings.primitiveBytes = request.hardware.primitiveBytes;
  // The loader holds one update and fetches the next.
  settings.overheadBytes =
      request.hardware.processBytes + 2 * batch * hostBytes;
  for (auto &state : states)
    settings.persistentBytes += state.second;
  settings.updateSeconds = shared.updateSeconds();
  sharedTransientBytes = shared.arenaBytes - shared.persistentBytes;
}

/// Bytes and time of forward and backward grow with the micro-batch, and fall
/// and rise with the rung as the solver says.
void Candidates::estimate() {
  for (auto [index, bucket] : llvm::enumerate(buckets)) {
    const StepMeasure &m = bucket.sample.measure;
    plan::BucketEstimates &all = estimates.emplace_back();
    all.share = shareOf(index);
    double sampleBytes = m.arenaBytes - m.persistentBytes;
    double samplePeak = std::max<int64_t>(bucket.rungs[0].peakBytes(), 1);
    for (int64_t microBatch :
         plan::microBatchRungs(batch, request.microBatch)) {
      double scale = double(microBatch) / bucket.sample.microBatch;
      for (auto [rung, remat] : llvm::enumerate(bucket.rungs)) {
        if (request.remat == "full" && rung + 1 < bucket.rungs.size())
          continue;
        plan::Estimate e;
        e.microBatch = microBatch;
        e.rung = rung;
        double peak = std::max<int64_t>(remat.peakBytes(), 1) / samplePeak;
        e.transientBytes =
            std::max<int64_t>(scale * std::max(sampleBytes * peak,
                                               double(m.sideBytes)),
                              sharedTransientBytes);
        e.microBatchSeconds =
            m.microBatchSeconds(index, scale) + scale * remat.seconds;
        e.batchBytes.resize(inputs.size());
        for (auto [name, bytes] : m.batchBytes)
          e.batchBytes[inputs.lookup(name)] = bytes * scale;
        all.estimates.push_back(std::move(e));
      }
    }
  }
}

int64_t Candidates::estimateFixedBytes() const {
  std::vector<uint64_t> primitives;
  for (const Bucket &bucket : buckets)
    llvm::append_range(primitives, bucket.sample.measure.primitives);
  llvm::sort(primitives);
  primitives.erase(llvm::unique(primitives), primitives.end());
  return settings.persistentBytes + settings.overheadBytes +
         settings.primitiveBytes * static_cast<int64_t>(primitives.size());
}

plan::Candidate Candidates::makeCandidate(const Trial &trial) const {
  const StepMeasure &m = trial.measure;
  plan::Candidate c;
  c.microBatch = trial.microBatch;
  c.rung = trial.rung;
  c.transientBytes =
      std::max(m.arenaBytes - m.persistentBytes, sharedTransientBytes);
  c.batchBytes.resize(inputs.size());
  for (auto [name, bytes] : m.batchBytes)
    c.batchBytes[inputs.lookup(name)] = bytes;
  c.primitives = m.primitives;
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
    if (e.microBatch == bucket.sample.microBatch && e.rung == 0) {
      bucket.exact[estimate] = makeCandidate(bucket.sample);
      continue;
    }
    Job &job = jobs.emplace_back();
    job.estimate = estimate;
    job.trial.bucket = index;
    job.trial.microBatch = e.microBatch;
    job.trial.rung = e.rung;
  }
  if (failed(failableParallelForEach(
          module.getContext(), jobs,
          [&](Job &job) { return lower(job.trial, timing); })))
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

plan::Ladder
Candidates::makeLadder(SmallVectorImpl<unsigned> &choice) const {
  std::vector<plan::BucketCandidates> all;
  for (auto [index, bucket] : llvm::enumerate(buckets)) {
    plan::BucketCandidates &candidates = all.emplace_back();
    candidates.share = shareOf(index);
    unsigned wanted = choice[index];
    for (const auto &[estimate, candidate] : bucket.exact) {
      if (estimate == wanted)
        choice[index] = candidates.candidates.size();
      candidates.candidates.push_back(candidate);
    }
  }
  return plan::Ladder(settings, std::move(all));
}

PlanAttr Candidates::planOf(ArrayRef<int64_t> microBatches,
                            ArrayRef<unsigned> rungs) const {
  Builder b(ModuleOp(module).getContext());
  SmallVector<Attribute> recompute;
  for (auto [bucket, rung] : llvm::zip(buckets, rungs))
    recompute.push_back(rung == 0
                            ? b.getArrayAttr({})
                            : bucket.graph->getRecompute(bucket.rungs[rung]));
  bool any = llvm::any_of(rungs, [](unsigned rung) { return rung > 0; });
  return PlanAttr::get(b.getContext(), b.getStringAttr(request.precision),
                       request.threads, b.getDenseI64ArrayAttr(microBatches),
                       any ? b.getArrayAttr(recompute) : ArrayAttr());
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

double Candidates::countRecomputedPart(unsigned index,
                                       unsigned estimate) const {
  const Bucket &bucket = buckets[index];
  unsigned rung = estimates[index].estimates[estimate].rung;
  return rung == 0 ? 0
                   : bucket.graph->countFlops(bucket.rungs[rung]) /
                         bucket.graph->countFlops();
}
