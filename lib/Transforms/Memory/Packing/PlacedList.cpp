// Two indices over placed items: a bucketed list by offset, and lists by length
// and begin.
#include "PlacedList.h"

#include <algorithm>
#include <cstring>

using namespace tts::packing;

static int levelOf(const Span &span) {
  int level = 0;
  while ((int64_t(2) << level) <= span.end - span.begin)
    ++level;
  return level;
}

PlacedList::PlacedList(const Problem &problem, bool bestFit)
    : problem(problem), bestFit(bestFit) {
  int highest = 0;
  for (const Span &span : problem.spans)
    highest = std::max(highest, levelOf(span));
  levels.resize(highest + 1);
  for (int level = 0; level <= highest; ++level)
    levels[level].resize((problem.numSections >> level) + 1);
  countNeighbours();
}

void PlacedList::countNeighbours() {
  // Those that begin before my end, less those that end by my begin.
  std::vector<int32_t> begun(problem.numSections + 1, 0), ended(begun);
  for (const Span &span : problem.spans) {
    ++begun[span.begin];
    ++ended[span.end];
  }
  for (int32_t s = 1; s <= problem.numSections; ++s) {
    begun[s] += begun[s - 1];
    ended[s] += ended[s - 1];
  }
  for (const Span &span : problem.spans)
    neighbours.push_back(begun[span.end - 1] - ended[span.begin]);
}

void PlacedList::Bucket::insert(int32_t place, const Block &block) {
  std::copy_backward(begins + place, begins + size, begins + size + 1);
  std::copy_backward(ends + place, ends + size, ends + size + 1);
  std::copy_backward(offsets + place, offsets + size, offsets + size + 1);
  std::copy_backward(tops + place, tops + size, tops + size + 1);
  begins[place] = block.begin;
  ends[place] = block.end;
  offsets[place] = block.offset;
  tops[place] = block.top;
  ++size;
  top = std::max(top, block.top);
  begin = std::min(begin, block.begin);
  end = std::max(end, block.end);
}

std::unique_ptr<PlacedList::Bucket> PlacedList::Bucket::splitOffUpperHalf() {
  auto upper = std::make_unique<Bucket>();
  const int32_t half = size / 2;
  for (int32_t i = half; i < size; ++i)
    upper->insert(i - half, {offsets[i], tops[i], begins[i], ends[i]});
  size = half;
  top = *std::max_element(tops, tops + size);
  begin = *std::min_element(begins, begins + size);
  end = *std::max_element(ends, ends + size);
  return upper;
}

class PlacedList::Walk {
public:
  Walk(const Span &span, bool bestFit) : span(span), bestFit(bestFit) {}

  /// Goes past an overlapping block; true when the answer is found.
  bool pass(const Block &block) {
    const int64_t gap = block.offset - floor;
    if (gap >= span.size && gap < bestGap) {
      best = floor;
      bestGap = gap;
      if (!bestFit || gap == span.size)
        return true;
    }
    floor = std::max(floor, alignUp(block.top, span.alignment));
    return false;
  }
  int64_t result() const { return best < 0 ? floor : best; }
  int64_t floor = 0; ///< nothing overlaps from here to the next block

private:
  const Span &span;
  const bool bestFit;
  int64_t best = -1, bestGap = INT64_MAX;
};

int64_t PlacedList::findOffset(int32_t index) {
  const Span &span = problem.spans[index];
  Walk walk(span, bestFit);
  // Collecting and sorting costs some twenty times a step of the plain scan.
  if (size_t(neighbours[index]) * 20 < count) {
    collect(span);
    for (const Block &block : found)
      if (walk.pass(block))
        break;
    return walk.result();
  }
  for (const auto &bucket : buckets) {
    if (!bestFit && walk.floor + span.size <= bucket->offsets[0])
      break;
    if (bucket->end <= span.begin || span.end <= bucket->begin ||
        bucket->top <= walk.floor)
      continue;
    if (walkBucket(*bucket, span, walk))
      break;
  }
  return walk.result();
}

bool PlacedList::walkBucket(const Bucket &bucket, const Span &span,
                            Walk &walk) const {
  alignas(8) uint8_t overlaps[Bucket::capacity];
  for (int32_t i = 0; i < Bucket::capacity; ++i)
    overlaps[i] = (bucket.begins[i] < span.end) & (span.begin < bucket.ends[i]);
  for (int32_t word = 0; word < bucket.size; word += 8) {
    uint64_t flags;
    std::memcpy(&flags, overlaps + word, sizeof(flags));
    for (; flags != 0; flags &= flags - 1) {
      const int32_t i = word + __builtin_ctzll(flags) / 8;
      if (i >= bucket.size)
        return false;
      if (walk.pass({bucket.offsets[i], bucket.tops[i], 0, 0}))
        return true;
    }
  }
  return false;
}

/// The blocks that overlap `span`, by offset.
void PlacedList::collect(const Span &span) {
  found.clear();
  for (size_t level = 0; level < levels.size(); ++level) {
    // A block of this level that overlaps begins after begin - 2^(level+1).
    const int32_t first = std::max((span.begin >> level) - 2, 0),
                  last = (span.end - 1) >> level;
    for (int32_t cell = first; cell <= last; ++cell)
      for (const Block &block : levels[level][cell])
        if (block.begin < span.end && span.begin < block.end)
          found.push_back(block);
  }
  std::sort(found.begin(), found.end(),
            [](const Block &a, const Block &b) { return a.offset < b.offset; });
}

void PlacedList::insert(int32_t index, int64_t offset) {
  const Span &span = problem.spans[index];
  const Block block{offset, offset + span.size, span.begin, span.end};
  const int level = levelOf(span);
  levels[level][span.begin >> level].push_back(block);
  insertByOffset(block);
  ++count;
}

void PlacedList::insertByOffset(const Block &block) {
  auto after = std::upper_bound(
      buckets.begin(), buckets.end(), block.offset,
      [](int64_t offset, const auto &b) { return offset < b->offsets[0]; });
  if (buckets.empty())
    after = buckets.insert(after, std::make_unique<Bucket>()) + 1;
  else if (after == buckets.begin())
    ++after;
  Bucket &bucket = **(after - 1);
  const int64_t *place = std::upper_bound(
      bucket.offsets, bucket.offsets + bucket.size, block.offset);
  bucket.insert(int32_t(place - bucket.offsets), block);
  if (bucket.size == Bucket::capacity)
    buckets.insert(after, bucket.splitOffUpperHalf());
}
