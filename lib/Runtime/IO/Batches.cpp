//===- Batches.cpp - counting sort and a small dynamic program -----------===//
//
// State of the program: at a bucket with c utterances carried up from below.
// For 16 utterances and six buckets it is a few hundred steps.
//
//===----------------------------------------------------------------------===//

#include "Runtime/IO/Batches.h"
#include <algorithm>
#include <limits>
#include <utility>

namespace tts::rt {

namespace {
constexpr double impossible = std::numeric_limits<double>::infinity();
}

Batches::Batches(std::vector<BucketShape> shapes, size_t most)
    : buckets(std::move(shapes)), most(most), counts(buckets.size()),
      best((buckets.size() + 1) * (most + 1)), runs(best.size()),
      from(best.size()), chosen(buckets.size()), sorted(most) {}

void Batches::chooseFrom(size_t b, size_t carried) {
  size_t row = b * (most + 1), next = row + most + 1;
  if (best[row + carried] == impossible)
    return;
  const BucketShape &shape = buckets[b];
  size_t here = counts[b] + carried;
  size_t all = (here + shape.microBatch - 1) / shape.microBatch;
  bool mayCarry = b + 1 < buckets.size() && buckets[b + 1].holdsLower;
  for (size_t n = mayCarry ? 0 : all; n <= all; ++n) {
    size_t left = here - std::min(here, n * shape.microBatch);
    double cost = best[row + carried] + double(n) * shape.cost;
    if (cost < best[next + left]) {
      best[next + left] = cost;
      runs[next + left] = uint32_t(n);
      from[next + left] = uint32_t(carried);
    }
  }
}

void Batches::choose() {
  std::fill(best.begin(), best.end(), impossible);
  best[0] = 0;
  for (size_t b = 0; b < buckets.size(); ++b)
    for (size_t carried = 0; carried <= most; ++carried)
      chooseFrom(b, carried);
  size_t carried = 0;
  for (size_t b = buckets.size(); b-- > 0;) {
    size_t state = (b + 1) * (most + 1) + carried;
    chosen[b] = runs[state];
    carried = from[state];
  }
}

void Batches::cut(uint32_t *utterances, size_t count, const uint8_t *bucketOf,
                  std::vector<MicroBatch> &out) {
  std::fill(counts.begin(), counts.end(), 0);
  for (size_t i = 0; i < count; ++i)
    ++counts[bucketOf[utterances[i]]];
  size_t end = 0;
  for (size_t b = 0; b < buckets.size(); ++b)
    for (size_t i = 0; i < count; ++i)
      if (bucketOf[utterances[i]] == b)
        sorted[end++] = utterances[i];
  std::copy(sorted.begin(), sorted.begin() + long(count), utterances);

  choose();
  uint32_t first = 0, upTo = 0;
  for (size_t b = 0; b < buckets.size(); ++b) {
    upTo += counts[b];
    for (uint32_t n = 0; n < chosen[b]; ++n) {
      uint32_t size = std::min(buckets[b].microBatch, upTo - first);
      out.push_back({uint32_t(b), first, size});
      first += size;
    }
  }
}

} // namespace tts::rt
