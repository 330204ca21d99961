//===- Evaluate.cpp - runs the eval program over a list ------------------===//
//
// In parts of one batch, through the loader's host buffer.
//
//===----------------------------------------------------------------------===//

#include "Runtime/Train/Evaluate.h"
#include "Runtime/Abi/Error.h"
#include <algorithm>

namespace tts::rt {

void checkEvaluable(const Model &model, const Corpus &corpus) {
  for (uint32_t b = 0; b < model.manifest.buckets.size(); ++b)
    if (!model.has(TTS_PROGRAM_EVAL, b))
      throw Error(Exit::BadInput, "evaluation",
                  "the model has no eval program for bucket " +
                      std::to_string(b),
                  "train without --eval-every or recompile the model");
  if (corpus.validation.size() == 0)
    throw Error(Exit::BadInput, corpus.directory,
                "its validation split is empty",
                "train without --eval-every or prepare a larger corpus");
}

/// Of a replica's utterances all its stages know.
static void addOverRanks(World &world, Evaluation &result) {
  double utterances = world.stage() == 0 ? double(result.utterances) : 0;
  world.sum(result.losses.data(), result.losses.size());
  world.sum(result.denominators.data(), result.denominators.size());
  world.sum(&utterances, 1);
  result.utterances = uint64_t(utterances);
}

/// One micro-batch; adds its losses, then its denominators.
static void evaluateOne(Model &model, uint32_t bucket, double *sums) {
  model.run(TTS_PROGRAM_EVAL, bucket);
  size_t losses = model.losses.size();
  for (size_t l = 0; l < losses; ++l) {
    if (!model.losses[l].sum)
      continue;
    sums[l] += model.readScalar(*model.losses[l].sum);
    sums[losses + l] += model.readScalar(*model.losses[l].denominator);
  }
}

/// Adds losses, then denominators, to `sums`; returns how many utterances.
static uint64_t evaluateGroup(Model &model, Loader &loader,
                              const std::vector<uint32_t> &utterances,
                              double *sums, const Ran &ran) {
  // The most of any rank, where they exchange parameters in each micro-batch.
  bool together = model.world && model.manifest.hasShardedParameters();
  auto most = [&](size_t own) {
    return together ? size_t(model.world->maximum(double(own))) : own;
  };
  size_t part = size_t(model.manifest.batch), size = utterances.size();
  size_t parts = most((size + part - 1) / part);
  uint64_t done = 0;
  for (size_t p = 0; p < parts; ++p) {
    size_t first = std::min(p * part, size);
    size_t taken = std::min(part, size - first);
    const HostBatch *batch =
        taken ? &loader.read(utterances.data() + first, taken) : nullptr;
    size_t count = batch ? batch->microBatches.size() : 0, all = most(count);
    for (size_t i = 0; i < count; ++i) {
      loader.fill(*batch, i, model.arena);
      evaluateOne(model, batch->microBatches[i].bucket, sums);
      done += batch->microBatches[i].count;
      if (ran)
        ran(*batch, i);
    }
    for (size_t i = count; i < all; ++i) { // of no utterance, of any bucket
      loader.fillEmpty(0, model.arena);
      evaluateOne(model, 0, sums);
    }
  }
  return done;
}

void evaluate(Model &model, Loader &loader,
              const std::vector<std::vector<uint32_t>> &groups,
              Evaluation &result, const Ran &ran) {
  size_t losses = model.losses.size();
  std::vector<double> &sums = result.ofGroups;
  std::fill(sums.begin(), sums.end(), 0);
  result.utterances = 0;
  for (size_t g = 0; g < groups.size(); ++g)
    result.utterances += evaluateGroup(model, loader, groups[g],
                                       sums.data() + 2 * losses * g, ran);
  addNeighbours(sums.data(), groups.size(), 2 * losses);
  std::copy_n(sums.begin(), losses, result.losses.begin());
  std::copy_n(sums.begin() + long(losses), losses, result.denominators.begin());
  if (model.world)
    addOverRanks(*model.world, result);
  result.loss = 0;
  for (size_t l = 0; l < result.losses.size(); ++l) {
    double d = result.denominators[l];
    result.losses[l] = d == 0 ? 0 : result.losses[l] / d;
    result.loss += model.manifest.losses[l].coefficient * result.losses[l];
  }
}

} // namespace tts::rt
