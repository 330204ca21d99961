//===- Search.cpp - the fastest choice that fits, from estimates ---------===//

#include "tts/Transforms/Plan/Search.h"

#include "tts/Transforms/Plan/Candidate.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

using namespace tts::plan;

Search::Search(int64_t batch, Fixed fixed, double updateSeconds,
               llvm::ArrayRef<BucketEstimates> buckets) {
  enumerate(batch, fixed, updateSeconds, buckets);
  dropDominated();
}

Search Search::merge(llvm::ArrayRef<Search> searches) {
  Search all;
  for (auto [group, search] : llvm::enumerate(searches))
    for (JointEstimate j : search.joint) {
      j.group = group;
      all.joint.push_back(std::move(j));
    }
  all.dropDominated();
  return all;
}

/// Buckets never run at the same time: for each cap on the bytes above what
/// persists, every bucket takes its fastest estimate below it.
void Search::enumerate(int64_t batch, Fixed fixed, double updateSeconds,
                       llvm::ArrayRef<BucketEstimates> buckets) {
  llvm::SmallVector<int64_t> caps;
  std::vector<std::vector<double>> counts;
  for (const BucketEstimates &bucket : buckets) {
    auto &ofBucket = counts.emplace_back();
    for (const Estimate &e : bucket.estimates) {
      caps.push_back(e.transientBytes);
      ofBucket.push_back(
          expectedMicroBatches(batch, bucket.share, e.microBatch));
    }
  }
  llvm::sort(caps);
  caps.erase(llvm::unique(caps), caps.end());

  std::set<llvm::SmallVector<unsigned>> known;
  for (int64_t cap : caps) {
    JointEstimate j;
    int64_t transient = 0;
    llvm::SmallVector<int64_t> region;
    for (auto [bucket, count] : llvm::zip(buckets, counts)) {
      std::optional<unsigned> best;
      auto secondsOf = [&, &all = bucket.estimates,
                        &count = count](unsigned i) {
        return all[i].microBatchSeconds * count[i];
      };
      for (auto [index, e] : llvm::enumerate(bucket.estimates))
        if (e.transientBytes <= cap &&
            (!best || secondsOf(index) < secondsOf(*best)))
          best = index;
      if (!best)
        break;
      const Estimate &e = bucket.estimates[*best];
      j.choice.push_back(*best);
      j.stepSeconds += secondsOf(*best);
      j.leastSeconds += e.leastSeconds * count[*best];
      transient = std::max(transient, e.transientBytes);
      region.resize(std::max(region.size(), e.batchBytes.size()));
      for (auto [most, bytes] : llvm::zip(region, e.batchBytes))
        most = std::max(most, bytes);
    }
    if (j.choice.size() != buckets.size() || !known.insert(j.choice).second)
      continue;
    j.stepSeconds += updateSeconds;
    j.leastSeconds += updateSeconds;
    int64_t estimated = transient;
    for (int64_t bytes : region)
      estimated += bytes;
    j.peakBytes = fixed.known + fixed.estimated + estimated;
    j.leastBytes =
        fixed.known + std::ceil(kOptimism * (fixed.least + estimated));
    joint.push_back(std::move(j));
  }
}

/// Fastest first; what is neither faster nor smaller than another goes, or not
/// by enough to be worth lowering, but for the smallest and the fastest.
void Search::dropDominated() {
  llvm::stable_sort(joint, [](const JointEstimate &a, const JointEstimate &b) {
    return std::make_pair(a.stepSeconds, a.peakBytes) <
           std::make_pair(b.stepSeconds, b.peakBytes);
  });
  constexpr double kBytesSpacing = 0.995, kSecondsSpacing = 0.998;
  auto least = llvm::min_element(
      joint, [](auto &a, auto &b) { return a.peakBytes < b.peakBytes; });
  int64_t leastBytes = least == joint.end() ? 0 : least->peakBytes;
  std::vector<JointEstimate> front, spaced;
  for (JointEstimate &j : joint)
    if (front.empty() || j.peakBytes < kBytesSpacing * front.back().peakBytes ||
        (j.peakBytes == leastBytes && j.peakBytes < front.back().peakBytes))
      front.push_back(std::move(j));
  for (auto [index, j] : llvm::enumerate(llvm::reverse(front)))
    if (spaced.empty() || index + 1 == front.size() ||
        j.stepSeconds < kSecondsSpacing * spaced.back().stepSeconds)
      spaced.push_back(std::move(j));
  joint.assign(spaced.rbegin(), spaced.rend());
}

namespace {
/// What a choice counts as: what is exact, or what was the least expected.
struct Bounds {
  double seconds;
  int64_t bytes;

  Bounds(const JointEstimate &j, const ExactFigures &exact)
      : seconds(std::max(j.leastSeconds, exact.stepSeconds)),
        bytes(std::max(j.leastBytes, exact.peakBytes)) {}
  bool operator<(const Bounds &other) const {
    return std::tie(seconds, bytes) < std::tie(other.seconds, other.bytes);
  }
};
} // namespace

const JointEstimate *Search::pick(int64_t budget, Exact exact) const {
  Choices open; // may be the answer
  for (const JointEstimate &j : joint)
    if (j.leastBytes <= budget)
      open.push_back(&j);
  llvm::stable_sort(
      open, [](auto *a, auto *b) { return a->leastSeconds < b->leastSeconds; });
  const JointEstimate *best = nullptr;
  std::optional<Bounds> least;
  for (size_t next = 0; next < open.size();) {
    if (least && open[next]->leastSeconds >= least->seconds)
      break;
    size_t end = std::min(next + kAtOnce, open.size());
    Choices few(open.begin() + next, open.begin() + end);
    std::vector<ExactFigures> figures = exact(few);
    if (figures.size() != few.size())
      return nullptr;
    for (auto [j, f] : llvm::zip(few, figures)) {
      Bounds bounds(*j, f);
      if (bounds.bytes > budget || (least && !(bounds < *least)))
        continue;
      best = j;
      least = bounds;
    }
    next = end;
  }
  return best;
}

Search::Smallest Search::findSmallest(Exact exact) const {
  Smallest least;
  for (const JointEstimate &j : llvm::reverse(joint)) { // smallest first
    if (least.choice && j.leastBytes >= least.budget)
      continue;
    std::vector<ExactFigures> figures = exact({&j});
    if (figures.empty())
      return {};
    int64_t bytes = Bounds(j, figures.front()).bytes;
    if (!least.choice || bytes < least.budget)
      least = {&j, bytes};
  }
  return least;
}
