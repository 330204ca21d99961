//===- Candidate.cpp - candidates, and what they come to together --------===//

#include "tts/Transforms/Plan/Candidate.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

using namespace tts::plan;

llvm::SmallVector<int64_t>
tts::plan::microBatchRungs(int64_t batch, std::optional<int64_t> pinned) {
  if (pinned)
    return {std::min(*pinned, batch)};
  llvm::SmallVector<int64_t> rungs;
  for (int64_t rung = 1; rung < batch; rung *= 2)
    rungs.push_back(rung);
  rungs.push_back(batch);
  return rungs;
}

double tts::plan::expectedMicroBatches(int64_t batch, double share,
                                       int64_t microBatch) {
  share = std::clamp(share, 0.0, 1.0);
  double expected = 0;
  for (int64_t n = 1; n <= batch; ++n) {
    // Binomial probability through logarithms: batches of thousands are fine.
    double probability =
        n == batch && share == 1 ? 1
        : share == 0 || share == 1
            ? 0
            : std::exp(std::lgamma(batch + 1.0) - std::lgamma(n + 1.0) -
                       std::lgamma(batch - n + 1.0) + n * std::log(share) +
                       (batch - n) * std::log1p(-share));
    expected += probability * ((n + microBatch - 1) / microBatch);
  }
  return expected;
}

ClassBytes tts::plan::joinClasses(const ClassBytes &states,
                                  const ClassBytes &transients,
                                  llvm::ArrayRef<int64_t> batchBytes) {
  ClassBytes classes = transients;
  for (unsigned klass = 0; klass < kNumClasses; ++klass)
    classes[klass] += states[klass];
  classes[TTS_CLASS_BATCH] =
      std::accumulate(batchBytes.begin(), batchBytes.end(), int64_t(0));
  return classes;
}

JointChoice
tts::plan::joinCandidates(const JointSettings &settings,
                          llvm::ArrayRef<double> shares,
                          llvm::ArrayRef<const Candidate *> candidates) {
  JointChoice joint;
  joint.stepSeconds = settings.updateSeconds;
  int64_t transients = 0, live = settings.liveTransientBytes;
  ClassBytes classes = settings.transientClasses;
  llvm::SmallVector<int64_t> batchBytes;
  std::vector<uint64_t> primitives;
  for (auto [share, candidate] : llvm::zip(shares, candidates)) {
    const Candidate &c = *candidate;
    transients = std::max(transients, c.transientBytes);
    if (c.liveTransientBytes > live) {
      live = c.liveTransientBytes;
      classes = c.transientClasses;
    }
    batchBytes.resize(std::max(batchBytes.size(), c.batchBytes.size()));
    for (auto [most, bytes] : llvm::zip(batchBytes, c.batchBytes))
      most = std::max(most, bytes);
    std::vector<uint64_t> both;
    std::set_union(primitives.begin(), primitives.end(), c.primitives.begin(),
                   c.primitives.end(), std::back_inserter(both));
    primitives = std::move(both);
    joint.microBatchSeconds.push_back(c.microBatchSeconds);
    joint.stepSeconds +=
        c.microBatchSeconds * settings.groups *
        expectedMicroBatches(settings.batch, share, c.microBatch);
  }
  joint.classes = joinClasses(settings.states, classes, batchBytes);
  joint.lowerBoundBytes =
      std::accumulate(joint.classes.begin(), joint.classes.end(), int64_t(0));
  joint.arenaBytes = settings.persistentBytes + transients;
  for (int64_t bytes : batchBytes)
    joint.arenaBytes += llvm::alignTo(bytes, TTS_ARENA_ALIGNMENT);
  joint.overheadBytes =
      settings.overheadBytes +
      settings.primitiveBytes * static_cast<int64_t>(primitives.size());
  return joint;
}
