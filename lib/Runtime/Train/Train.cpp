//===- Train.cpp - the training loop -------------------------------------===//
//
// Everything counts in optimizer updates. Between two updates: signals, time,
// validation, checkpoints; nowhere else.
//
//===----------------------------------------------------------------------===//

#include "Runtime/Train/Train.h"
#include "Runtime/Abi/Error.h"
#include "Runtime/Memory/Allocations.h"
#include "Runtime/Memory/Machine.h"
#include "Runtime/Train/Dump.h"
#include "Runtime/Train/Initialize.h"
#include "Runtime/Train/NonFinite.h"
#include "Runtime/Train/Signals.h"
#include "Runtime/Train/Weights.h"
#include <chrono>
#include <cinttypes>
#include <cmath>
#include <cstdio>

namespace tts::rt {

using Clock = std::chrono::steady_clock;

namespace {

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

template <typename T> bool anyNonFinite(const char *data, uint64_t bytes) {
  const T *values = reinterpret_cast<const T *>(data);
  for (uint64_t i = 0; i < bytes / sizeof(T); ++i)
    if (!std::isfinite(values[i]))
      return true;
  return false;
}

Progress::Of progressOf(const World &world) {
  return world.ranks() == 1 ? Progress::Of::Alone
         : world.isFirst()  ? Progress::Of::FirstRank
                            : Progress::Of::OtherRank;
}

} // namespace

Run::Run(const Options &o, const void *blob, const TtsKernel *kernels,
         World &world)
    : options(o), world(world), corpus(o.data, o.split),
      model(blob, 0, kernels, world.messages() ? &world : nullptr),
      result(model), evaluation(model), replicas(model) {
  if (world.ranks() > 1 &&
      !(options.dumpOutputs.empty() && options.dumpOrder.empty()))
    throw Error(Exit::BadUsage, "--dump-outputs, --dump-order",
                "several ranks would write one file",
                "use a program of one rank");
  restore();
  state.lossScale.enabled = hasLossScale(model);
  state.lossScale.interval = options.lossScaleInterval;
  Schedule::parse(options.schedule, schedule.kind);
  schedule.lr = options.lr;
  schedule.warmup = options.warmup;
  schedule.updates = options.steps;
  if (options.evalEvery || options.evaluate)
    checkEvaluable(model, corpus);
  bool trains = !options.evaluate && options.dumpOrder.empty();
  if (trains && !options.checkpointDir.empty() &&
      (world.isFirst() || Checkpoints::areShared(model.manifest))) {
    checkpoints =
        std::make_unique<Checkpoints>(options.checkpointDir, model.manifest,
                                      model.arena, options.keep, world);
    if (!options.resume && !checkpoints->empty())
      throw Error(Exit::BadUsage, "--checkpoint-dir",
                  options.checkpointDir + " holds another run's checkpoints",
                  "add --resume or choose an empty directory");
  }
  loader = std::make_unique<Loader>(
      corpus, model.manifest, state.seed, state.position,
      Share{uint32_t(world.replica()), uint32_t(world.replicas())});
  OlderLines older = !trains          ? OlderLines::Kept
                     : options.resume ? OlderLines::UpToStep
                                      : OlderLines::Dropped;
  metrics = std::make_unique<Metrics>(world.isFirst() ? options.logDir : "",
                                      model.manifest, older, state.step,
                                      trains && options.tensorBoard);
  buckets.reserve(loader->mostUtterances() + model.manifest.buckets.size());
  if (size_t plain = model.executor.plainGemms())
    std::fprintf(
        stderr,
        "warning: oneDNN cannot do %zu matmuls on this machine without "
        "allocating: they are slow loops; recompile on this machine\n",
        plain);
  countLargeAllocations();
  world.start();
}

void Run::restore() {
  state.corpus = corpus.identity();
  state.seed = options.seed.value_or(0);
  state.lossScale.value = options.lossScale;
  state.experiment = Experiment(model.manifest, options);
  if (!options.resume) {
    initializeParameters(model.manifest, model.arena, state.seed);
    if (!options.initFrom.empty()) {
      loadWeights(model.manifest, model.arena, options.initFrom);
      resetStates(model.manifest, model.arena);
    }
    return;
  }
  std::string folder = findCheckpoint(
      options.resumeFrom.empty() ? options.checkpointDir : options.resumeFrom);
  resetStates(model.manifest, model.arena);
  RunState saved = loadCheckpoint(folder, model.manifest, model.arena);
  if (options.evaluate) {
    state.step = saved.step;
    return;
  }
  if (options.seed && *options.seed != saved.seed)
    throw Error(Exit::BadUsage, "--seed",
                "the checkpoint's is " + std::to_string(saved.seed),
                "drop the flag or start without --resume");
  if (saved.corpus != corpus.identity())
    throw Error(Exit::BadInput, folder,
                "it was trained on another corpus than " + corpus.directory,
                "give that one, or start with --init-from its weights");
  Experiment now = state.experiment;
  for (const std::string &change : now.goOnFrom(saved.experiment, saved.step))
    if (world.isFirst())
      std::fprintf(stderr, "warning: %s: another experiment %s\n",
                   folder.c_str(), change.c_str());
  state = saved;
  state.experiment = now;
}

void Run::run() {
  if (options.evaluate)
    return evaluateOnly();
  if (!options.dumpOrder.empty())
    return dumpOrder();
  for (uint32_t b = 0; b < model.manifest.buckets.size(); ++b)
    if (!model.optimizer || !model.has(TTS_PROGRAM_BACKWARD, b))
      throw Error(Exit::BadUsage, "model", "it was compiled without training",
                  "use --evaluate or recompile it");
  train();
}

void Run::train() {
  Clock::time_point start = Clock::now();
  startSeconds = secondsSinceStart();
  progress =
      std::make_unique<Progress>(state.step, options.steps, progressOf(world));
  bool unlimited = options.steps == 0 && options.maxSeconds > 0;
  replicas.check(state.step); // as they were drawn or loaded
  while (unlimited || state.step < options.steps) {
    oneUpdate();
    replicas.check(state.step);
    bool last = !unlimited && state.step >= options.steps;
    // One rank's is all ranks': they leave the loop together.
    double ends[] = {double(interrupted()),
                     double(options.maxSeconds > 0 &&
                            secondsSince(start) >= options.maxSeconds)};
    world.sum(ends, 2);
    bool stop = ends[0] > 0, late = ends[1] > 0;
    if (options.evalEvery &&
        (state.step % options.evalEvery == 0 || last || (late && !stop)))
      validate();
    bool due =
        options.checkpointEvery && state.step % options.checkpointEvery == 0;
    if (due || stop || late)
      save();
    if (stop) {
      finish();
      throw Error(Exit::Interrupted, "train",
                  "interrupted after update " + std::to_string(state.step),
                  checkpoints ? "saved " + checkpoints->pathOf(state.step) +
                                    ", continue with --resume"
                              : "nothing is saved without --checkpoint-dir");
    }
    if (late)
      break;
  }
  save();
  finish();
}

void Run::oneUpdate() {
  Clock::time_point start = Clock::now();
  const HostBatch &batch = loader->next();
  buckets.clear();
  for (const MicroBatch &micro : batch.microBatches)
    buckets.push_back(micro.bucket);
  // All run as many: empty ones, of the bucket that takes least.
  if (model.manifest.hasShardedGradients())
    buckets.resize(size_t(world.maximum(double(buckets.size()))), 0);
  int64_t step = state.step + 1;
  MicroBatches micro{
      buckets.data(), buckets.size(),
      [&](size_t i) {
        i < batch.microBatches.size()
            ? loader->fill(batch, i, model.arena)
            : loader->fillEmpty(buckets[i], model.arena);
      },
      [&](size_t done) { progress->microBatch(step, done, buckets.size()); },
      model.manifest.hasShardedGradients() ? nullptr : &batch.groupEnds};
  double lr = schedule.rate(step);
  UpdateScalars scalars{state.seed, step, lr, options.weightDecay};
  int64_t skipped =
      runScaledUpdate(model, micro, scalars, result, state.lossScale);
  if (!result.finite)
    stopNonFinite(batch, micro, scalars);
  state.step = step;
  state.position = batch.after;
  state.experiment.add(batch.checksum, lr);
  // All stages of a replica have read the same.
  double once = world.stage() == 0;
  double frames[] = {once * double(batch.frames),
                     once * double(batch.paddedFrames)};
  world.sum(frames, 2);
  UpdateMetrics m{step,
                  batch.epoch,
                  result.loss,
                  &result.losses,
                  lr,
                  result.gradNorm,
                  batch.total,
                  uint64_t(frames[0]),
                  uint64_t(frames[1]),
                  secondsSince(start),
                  skipped,
                  scalars.lossScale};
  metrics->update(m);
  progress->update(m);
  if (!peakAfterFirstUpdate)
    peakAfterFirstUpdate = peakResidentBytes();
}

void Run::stopNonFinite(const HostBatch &batch, const MicroBatches &micro,
                        const UpdateScalars &scalars) {
  if (progress)
    progress->end();
  std::string what = firstNonFinite() + " is not finite", ids;
  if (state.lossScale.enabled)
    what += " at the least loss scale, 1";
  bool isSpoilt = result.hasSpoiltWeights(model);
  if (!isSpoilt)
    if (NonFinite first = findNonFinite(model, micro, scalars))
      what += "; " + first.text();
  for (uint32_t u : batch.utterances)
    ids += (ids.empty() ? "" : ", ") + corpus.id(u);
  std::string kept = checkpoints && checkpoints->lastSaved() >= 0
                         ? "the last good checkpoint is " +
                               checkpoints->pathOf(checkpoints->lastSaved())
                         : "there is no checkpoint";
  throw Error(Exit::CannotContinue, "update " + std::to_string(state.step + 1),
              what + " (utterances " + ids + "); the weights are " +
                  (isSpoilt ? "spoilt, backward has updated them already"
                            : "those of update " + std::to_string(state.step)),
              kept + ": lower --lr or look at these utterances");
}

std::string Run::firstNonFinite() const {
  for (size_t l = 0; l < result.losses.size(); ++l)
    if (!std::isfinite(result.losses[l]))
      return "loss '" + model.manifest.losses[l].name + "'";
  for (const Parameter &p : model.manifest.parameters) {
    // Where backward updates parameters, what the gradient went into.
    Slice slice = p.gradient                         ? p.gradient
                  : !model.manifest.updateInBackward ? Slice()
                  : p.moment1                        ? p.moment1
                                                     : p.value.at;
    const char *data = model.arena.at(slice.offset);
    if (slice &&
        (p.value.dtype == TTS_F64 ? anyNonFinite<double>(data, slice.size)
                                  : anyNonFinite<float>(data, slice.size)))
      return "the gradient of '" + p.value.name + "'";
  }
  return "the gradient norm";
}

void Run::validate() {
  Clock::time_point start = Clock::now();
  setDraw(model, state.seed, state.step);
  evaluate(model, *loader, loader->validation(), evaluation);
  metrics->evaluation(state.step, evaluation.loss, evaluation.losses,
                      evaluation.utterances, secondsSince(start));
  if (progress)
    progress->evaluation(state.step, evaluation.loss);
  if (!options.saveBest.empty() && evaluation.loss < state.bestLoss) {
    state.bestLoss = evaluation.loss;
    state.bestStep = state.step;
    if (checkpoints)
      checkpoints->saveBest(state);
  }
}

void Run::save() {
  bool isDue = checkpoints && checkpoints->lastSaved() != state.step;
  if (Checkpoints::areShared(
          model.manifest)) { // all save, where the first wants to
    double wish = isDue && world.isFirst();
    world.sum(&wish, 1);
    isDue = checkpoints && wish > 0;
  }
  if (isDue)
    checkpoints->save(state);
}

void Run::finish() {
  if (progress)
    progress->end();
  if (!peakAfterFirstUpdate)
    peakAfterFirstUpdate = peakResidentBytes();
  uint64_t peak = peakResidentBytes();
  if (model.manifest.budgetBytes && peak > model.manifest.budgetBytes)
    std::fprintf(stderr,
                 "warning: the measured peak of %" PRIu64
                 " bytes is over the budget of %" PRIu64 "\n",
                 peak, model.manifest.budgetBytes);
  std::vector<FinalMetrics> ranks = gatherFigures();
  nlohmann::ordered_json experiment; // an evaluation is none
  if (!options.evaluate) {
    experiment = state.experiment.toJson();
    experiment["seed"] = state.seed;
    experiment["corpus_hash"] = corpus.hash;
  }
  metrics->final(ranks, experiment);
  world.meet(); // no rank ends while another still writes
}

/// Of every rank, in their order.
std::vector<FinalMetrics> Run::gatherFigures() {
  FinalMetrics own{model.manifest.peakBytes,
                   peakResidentBytes(),
                   peakAfterFirstUpdate,
                   model.table.arenaBytes(),
                   model.executor.highWater(),
                   largeAllocationsAfterStart(),
                   corpus.bytesRead(),
                   world.bulkBytesSent(),
                   startSeconds};
  std::vector<FinalMetrics> ranks(size_t(world.ranks()));
  auto numbers = own.numbers();
  const double *all = world.gather(numbers.data(), numbers.size());
  for (size_t r = 0; r < ranks.size(); ++r)
    ranks[r] = FinalMetrics::fromNumbers(all + r * numbers.size());
  return ranks;
}

} // namespace tts::rt
