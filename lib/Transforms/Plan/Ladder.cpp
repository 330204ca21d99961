//===- Ladder.cpp - candidates that know no budget, and their front ------===//

#include "tts/Transforms/Plan/Ladder.h"

#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>
#include <iterator>

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

Ladder::Ladder(LadderSettings settings, std::vector<BucketCandidates> buckets)
    : settings(settings), buckets(std::move(buckets)) {
  llvm::SmallVector<int64_t> caps;
  for (const BucketCandidates &bucket : this->buckets)
    for (const Candidate &candidate : bucket.candidates)
      caps.push_back(candidate.transientBytes);
  llvm::sort(caps);
  caps.erase(llvm::unique(caps), caps.end());

  // The smallest of everything first: it bounds the budget from below.
  auto bestBelow = [&](int64_t cap, auto isBetter) {
    llvm::SmallVector<unsigned> choice;
    for (const BucketCandidates &bucket : this->buckets) {
      std::optional<unsigned> best;
      for (auto [index, candidate] : llvm::enumerate(bucket.candidates))
        if (candidate.transientBytes <= cap &&
            (!best || isBetter(bucket, candidate, bucket.candidates[*best])))
          best = index;
      if (!best)
        return llvm::SmallVector<unsigned>();
      choice.push_back(*best);
    }
    return choice;
  };
  auto isSmaller = [](const BucketCandidates &, const Candidate &a,
                      const Candidate &b) {
    return a.transientBytes < b.transientBytes;
  };
  auto seconds = [&](const BucketCandidates &bucket, const Candidate &c) {
    return c.microBatchSeconds *
           expectedMicroBatches(settings.batch, bucket.share, c.microBatch);
  };
  auto isFaster = [&](const BucketCandidates &bucket, const Candidate &a,
                      const Candidate &b) {
    return seconds(bucket, a) < seconds(bucket, b);
  };
  if (!caps.empty())
    consider(bestBelow(caps.back(), isSmaller));
  for (int64_t cap : caps)
    consider(bestBelow(cap, isFaster));

  pareto = all;
  llvm::stable_sort(pareto, [](const JointChoice &a, const JointChoice &b) {
    return std::make_pair(a.peakBytes(), a.stepSeconds) <
           std::make_pair(b.peakBytes(), b.stepSeconds);
  });
  std::vector<JointChoice> kept;
  for (const JointChoice &choice : pareto)
    if (kept.empty() || choice.stepSeconds < kept.back().stepSeconds)
      kept.push_back(choice);
  pareto = std::move(kept);
}

void Ladder::consider(llvm::ArrayRef<unsigned> candidates) {
  if (candidates.empty())
    return;
  for (const JointChoice &known : all)
    if (llvm::ArrayRef(known.candidates) == candidates)
      return;
  all.push_back(join(candidates));
}

JointChoice Ladder::join(llvm::ArrayRef<unsigned> candidates) const {
  llvm::SmallVector<double> shares;
  llvm::SmallVector<const Candidate *> chosen;
  for (auto [bucket, index] : llvm::zip(buckets, candidates)) {
    shares.push_back(bucket.share);
    chosen.push_back(&bucket.candidates[index]);
  }
  JointChoice joint = joinCandidates(settings, shares, chosen);
  joint.candidates.assign(candidates.begin(), candidates.end());
  return joint;
}

JointChoice
tts::plan::joinCandidates(const LadderSettings &settings,
                          llvm::ArrayRef<double> shares,
                          llvm::ArrayRef<const Candidate *> candidates) {
  JointChoice joint;
  joint.stepSeconds = settings.updateSeconds;
  int64_t transient = 0;
  llvm::SmallVector<int64_t> batchBytes;
  std::vector<uint64_t> primitives;
  for (auto [share, candidate] : llvm::zip(shares, candidates)) {
    const Candidate &c = *candidate;
    transient = std::max(transient, c.transientBytes);
    batchBytes.resize(std::max(batchBytes.size(), c.batchBytes.size()));
    for (auto [most, bytes] : llvm::zip(batchBytes, c.batchBytes))
      most = std::max(most, bytes);
    std::vector<uint64_t> both;
    std::set_union(primitives.begin(), primitives.end(), c.primitives.begin(),
                   c.primitives.end(), std::back_inserter(both));
    primitives = std::move(both);
    joint.stepSeconds +=
        c.microBatchSeconds *
        expectedMicroBatches(settings.batch, share, c.microBatch);
  }
  joint.arenaBytes = settings.persistentBytes + transient;
  for (int64_t bytes : batchBytes)
    joint.arenaBytes += bytes;
  joint.overheadBytes =
      settings.overheadBytes +
      settings.primitiveBytes * static_cast<int64_t>(primitives.size());
  return joint;
}

const JointChoice *Ladder::pick(int64_t budget) const {
  const JointChoice *best = nullptr;
  for (const JointChoice &choice : pareto)
    if (choice.peakBytes() <= budget)
      best = &choice; // ascending in peak, descending in seconds
  return best;
}
