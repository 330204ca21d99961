//===- Update.cpp - runs one optimizer update ----------------------------===//
//
// Allocates nothing: results live in vectors the caller made at start.
//
//===----------------------------------------------------------------------===//

#include "Runtime/Train/Update.h"
#include "Runtime/Abi/Error.h"
#include "Runtime/IO/Groups.h"
#include <algorithm>
#include <cmath>

namespace tts::rt {

void setDraw(Model &model, uint64_t seed, int64_t update) {
  if (!model.draw)
    return;
  int64_t *draw =
      reinterpret_cast<int64_t *>(model.arena.at(model.draw->at.offset));
  draw[0] = int64_t(seed);
  draw[1] = update - 1;
}

void setLossWeights(Model &model, const std::vector<double> &denominators,
                    double scale) {
  for (size_t i = 0; i < model.losses.size(); ++i) {
    if (!model.losses[i].weight)
      continue;
    double weight =
        denominators[i] == 0
            ? 0
            : scale * model.manifest.losses[i].coefficient / denominators[i];
    model.writeScalar(*model.losses[i].weight, &weight, 1);
  }
}

void setOptimizer(Model &model, const UpdateScalars &scalars) {
  const Optimizer &o = model.manifest.optimizer;
  double t = double(scalars.update);
  double values[8] = {scalars.lr,
                      o.beta1,
                      o.beta2,
                      o.epsilon,
                      scalars.weightDecay,
                      1 / (1 - std::pow(o.beta1, t)),
                      1 / (1 - std::pow(o.beta2, t)),
                      o.ema};
  model.writeScalar(*model.optimizer, values, 8);
  double inverse = 1 / scalars.lossScale;
  if (model.inverseLossScale)
    model.writeScalar(*model.inverseLossScale, &inverse, 1);
}

namespace {

/// Of loss l, from its sum.
double lossOf(const UpdateResult &result, size_t l, double sum) {
  double d = result.denominators[l];
  return d == 0 ? 0 : sum / d;
}

double totalLoss(const Model &model, const UpdateResult &result,
                 const double *sums) {
  double total = 0;
  for (size_t l = 0; l < result.losses.size(); ++l)
    total += model.manifest.losses[l].coefficient * lossOf(result, l, sums[l]);
  return total;
}

void checkCount(const Manifest &manifest, size_t count) {
  if (count > 1 && !manifest.wholeBatch.empty())
    throw Error(Exit::BadInput, manifest.wholeBatch,
                "looks at all utterances of an update together, but they come "
                "in " +
                    std::to_string(count) + " micro-batches",
                "give one micro-batch");
  if (count != 1 && manifest.updateInBackward)
    throw Error(Exit::BadInput, "update",
                "backward updates the parameters of one micro-batch, but "
                "there are " +
                    std::to_string(count),
                "give one, or compile without --optimizer-in-backward");
}

/// One number per loss, summed over the micro-batches of each group, the groups
/// of this rank, the ranks. `run(i, sums)` adds those of micro-batch i;
/// `end(g)` is told of a group's end.
template <typename RunOne, typename End>
void sumOverBatches(Model &model, const MicroBatches &batches,
                    std::vector<double> &rows, std::vector<double> &sums,
                    RunOne run, End end) {
  std::fill(rows.begin(), rows.end(), 0);
  size_t i = 0;
  for (size_t g = 0; g < batches.groups(); ++g) {
    for (; i < batches.groupEnd(g); ++i)
      run(i, rows.data() + g * sums.size());
    end(g);
  }
  addNeighbours(rows.data(), batches.groups(), sums.size());
  std::copy_n(rows.begin(), sums.size(), sums.begin());
  if (model.world)
    model.world->sum(sums.data(), sums.size());
}

void addDenominators(Model &model, const MicroBatches &batches,
                     UpdateResult &result) {
  auto run = [&](size_t i, double *sums) {
    if (!model.has(TTS_PROGRAM_DENOMINATORS, batches.buckets[i]))
      return; // a stage that computes no loss
    batches.load(i);
    model.run(TTS_PROGRAM_DENOMINATORS, batches.buckets[i]);
    for (size_t l = 0; l < model.losses.size(); ++l)
      if (model.losses[l].denominator)
        sums[l] += model.readScalar(*model.losses[l].denominator);
  };
  sumOverBatches(model, batches, result.ofGroups, result.denominators, run,
                 [](size_t) {});
}

void runForward(Model &model, const MicroBatches &batches, size_t i,
                double *sums) {
  batches.load(i);
  model.run(TTS_PROGRAM_FORWARD, batches.buckets[i],
            uint32_t(i % size_t(model.manifest.stages.slots)));
  for (size_t l = 0; l < model.losses.size(); ++l)
    if (model.losses[l].sum)
      sums[l] += model.readScalar(*model.losses[l].sum);
}

void runBackward(Model &model, const MicroBatches &batches, size_t i) {
  uint32_t slot = uint32_t(i % size_t(model.manifest.stages.slots));
  if (i + 1 == batches.count && batches.groups() == 1)
    model.runLastBackward(batches.buckets[i], slot);
  else
    model.run(TTS_PROGRAM_BACKWARD, batches.buckets[i], slot);
  if (batches.progress)
    batches.progress(i + 1);
}

/// One forward, one backward in turn, but for the forwards that a later stage
/// needs before its first backward: none on the last stage, one on the one
/// before. The loss of all is not known here before the end.
void addGradientsOfStage(Model &model, const MicroBatches &batches,
                         UpdateResult &result) {
  const Stages &stages = model.manifest.stages;
  size_t ahead =
      size_t(std::min(stages.count - 1 - stages.index, stages.slots - 1));
  std::fill(result.losses.begin(), result.losses.end(), 0);
  for (size_t i = 0; i < batches.count + ahead; ++i) {
    if (i < batches.count)
      runForward(model, batches, i, result.losses.data());
    if (i >= ahead && i - ahead < batches.count) {
      batches.load(i - ahead); // another's inputs are in its place
      runBackward(model, batches, i - ahead);
    }
  }
  model.world->sum(result.losses.data(), result.losses.size());
}

void addGradients(Model &model, const MicroBatches &batches,
                  UpdateResult &result) {
  if (model.manifest.stages.count > 1)
    return addGradientsOfStage(model, batches, result);
  auto run = [&](size_t i, double *sums) {
    runForward(model, batches, i, sums);
    // What writes weights as it goes must not start on such a loss.
    if (model.manifest.updateInBackward &&
        !std::isfinite(totalLoss(model, result, sums)))
      return;
    runBackward(model, batches, i);
  };
  auto end = [&](size_t g) {
    if (batches.groups() > 1)
      model.run(TtsProgramKind(TTS_PROGRAM_FOLD + g), 0);
  };
  sumOverBatches(model, batches, result.ofGroups, result.losses, run, end);
}

} // namespace

bool UpdateResult::hasSpoiltWeights(const Model &model) const {
  return model.manifest.updateInBackward && !finite && std::isfinite(loss);
}

void runUpdate(Model &model, const MicroBatches &batches,
               const UpdateScalars &scalars, UpdateResult &result) {
  checkCount(model.manifest, batches.count);
  setDraw(model, scalars.seed, scalars.update);
  if (!model.manifest.updateInBackward)
    model.run(TTS_PROGRAM_ZERO, 0);
  addDenominators(model, batches, result);
  setLossWeights(model, result.denominators, scalars.lossScale);
  setOptimizer(model, scalars);
  addGradients(model, batches, result);

  result.loss = totalLoss(model, result, result.losses.data());
  for (size_t l = 0; l < result.losses.size(); ++l)
    result.losses[l] = lossOf(result, l, result.losses[l]);
  // A non-finite loss with finite gradients must not reach the weights either.
  result.finite = std::isfinite(result.loss);
  result.gradNorm = NAN;
  if (!result.finite) // of all ranks, which count on each other's sums
    return model.executor.finishEarlySums();
  if (!model.manifest.updateInBackward)
    model.run(TTS_PROGRAM_UPDATE, 0);
  result.gradNorm = model.readScalar(*model.gradNorm);
  result.finite = std::isfinite(result.gradNorm);
}

} // namespace tts::rt
