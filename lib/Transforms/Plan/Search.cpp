//===- Search.cpp - the fastest choice that fits, from estimates ---------===//

#include "tts/Transforms/Plan/Search.h"

#include "tts/Transforms/Plan/Candidate.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>
#include <set>

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
  std::vector<std::vector<double>> seconds;
  for (const BucketEstimates &bucket : buckets) {
    auto &times = seconds.emplace_back();
    for (const Estimate &e : bucket.estimates) {
      caps.push_back(e.transientBytes);
      times.push_back(e.microBatchSeconds *
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
    for (auto [bucket, times] : llvm::zip(buckets, seconds)) {
      std::optional<unsigned> best;
      for (auto [index, e] : llvm::enumerate(bucket.estimates))
        if (e.transientBytes <= cap && (!best || times[index] < times[*best]))
          best = index;
      if (!best)
        break;
      const Estimate &e = bucket.estimates[*best];
      j.choice.push_back(*best);
      j.stepSeconds += times[*best];
      transient = std::max(transient, e.transientBytes);
      region.resize(std::max(region.size(), e.batchBytes.size()));
      for (auto [most, bytes] : llvm::zip(region, e.batchBytes))
        most = std::max(most, bytes);
    }
    if (j.choice.size() != buckets.size() || !known.insert(j.choice).second)
      continue;
    j.stepSeconds += updateSeconds;
    int64_t estimated = fixed.estimated + transient;
    for (int64_t bytes : region)
      estimated += bytes;
    j.peakBytes = fixed.known + estimated;
    j.leastBytes = fixed.known + std::ceil(kOptimism * estimated);
    joint.push_back(std::move(j));
  }
}

/// Fastest first; what is neither faster nor smaller than another goes, or not
/// by enough to be worth lowering, but for the smallest.
void Search::dropDominated() {
  llvm::stable_sort(joint, [](const JointEstimate &a, const JointEstimate &b) {
    return std::make_pair(a.stepSeconds, a.peakBytes) <
           std::make_pair(b.stepSeconds, b.peakBytes);
  });
  constexpr double kSpacing = 0.995;
  auto least = llvm::min_element(
      joint, [](auto &a, auto &b) { return a.peakBytes < b.peakBytes; });
  int64_t leastBytes = least == joint.end() ? 0 : least->peakBytes;
  std::vector<JointEstimate> front;
  for (JointEstimate &j : joint)
    if (front.empty() || j.peakBytes < kSpacing * front.back().peakBytes ||
        (j.peakBytes == leastBytes && j.peakBytes < front.back().peakBytes))
      front.push_back(std::move(j));
  joint = std::move(front);
}

const JointEstimate *Search::pick(int64_t budget, Exact exact) const {
  for (const JointEstimate &j : joint) {
    if (j.leastBytes > budget)
      continue;
    std::optional<int64_t> peak = exact(j);
    if (!peak)
      return nullptr;
    if (*peak <= budget)
      return &j;
  }
  return nullptr;
}

Search::Smallest Search::findSmallest(Exact exact) const {
  Smallest least;
  for (const JointEstimate &j : llvm::reverse(joint)) { // smallest first
    if (least.choice && j.leastBytes >= least.budget)
      break;
    std::optional<int64_t> peak = exact(j);
    if (!peak)
      return {};
    int64_t bound = std::max(j.leastBytes, *peak);
    if (!least.choice || bound < least.budget)
      least = {&j, bound};
  }
  return least;
}
