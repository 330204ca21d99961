// Greedy placement in a given order (first or best fit over a bucketed list of placed items), and squeaky wheel.
#include "Problem.h"

#include <algorithm>
#include <numeric>

using namespace tts::packing;

namespace {

/// What is placed so far, sorted by offset, in buckets that know their extent in
/// time and height, so that a query skips those that cannot overlap.
class PlacedList {
public:
  explicit PlacedList(bool bestFit) : bestFit(bestFit) {}

  /// The offset `span` gets above, below or between what overlaps it in time.
  int64_t findOffset(const Span &span) const {
    int64_t floor = 0, best = -1, bestGap = INT64_MAX;
    for (const Bucket &bucket : buckets) {
      if (floor + span.size <= bucket.blocks.front().offset && !bestFit)
        return floor;
      if (bucket.end <= span.begin || span.end <= bucket.begin ||
          bucket.top <= floor)
        continue;
      for (const Block &block : bucket.blocks) {
        if (block.end <= span.begin || span.end <= block.begin)
          continue;
        int64_t gap = block.offset - floor;
        if (gap >= span.size && gap < bestGap) {
          best = floor;
          bestGap = gap;
          if (!bestFit || gap == span.size)
            return best;
        }
        floor = std::max(floor, alignUp(block.top, span.alignment));
      }
    }
    return best < 0 ? floor : best;
  }

  void insert(const Span &span, int64_t offset) {
    Block block{offset, offset + span.size, span.begin, span.end};
    auto bucket = std::upper_bound(
        buckets.begin(), buckets.end(), offset,
        [](int64_t o, const Bucket &b) { return o < b.blocks.front().offset; });
    if (bucket != buckets.begin())
      --bucket;
    else if (buckets.empty())
      bucket = buckets.emplace(bucket);
    auto place = std::upper_bound(
        bucket->blocks.begin(), bucket->blocks.end(), offset,
        [](int64_t o, const Block &b) { return o < b.offset; });
    bucket->blocks.insert(place, block);
    bucket->cover(block);
    if (bucket->blocks.size() > maxBlocks)
      split(bucket - buckets.begin());
  }

private:
  static constexpr size_t maxBlocks = 128;
  struct Block {
    int64_t offset, top;
    int32_t begin, end;
  };
  struct Bucket {
    std::vector<Block> blocks;
    int64_t top = 0;
    int32_t begin = INT32_MAX, end = 0;
    void cover(const Block &block) {
      top = std::max(top, block.top);
      begin = std::min(begin, block.begin);
      end = std::max(end, block.end);
    }
  };
  std::vector<Bucket> buckets;
  bool bestFit;

  void split(size_t index) {
    Bucket lower, upper;
    const std::vector<Block> &blocks = buckets[index].blocks;
    for (size_t i = 0; i < blocks.size(); ++i) {
      Bucket &half = i < blocks.size() / 2 ? lower : upper;
      half.blocks.push_back(blocks[i]);
      half.cover(blocks[i]);
    }
    buckets[index] = std::move(lower);
    buckets.insert(buckets.begin() + index + 1, std::move(upper));
  }
};

} // namespace

Placement tts::packing::placeInOrder(const Problem &problem,
                                     const std::vector<int32_t> &order,
                                     bool bestFit) {
  Placement result;
  result.offsets.assign(problem.spans.size(), 0);
  result.height = 0;
  PlacedList placed(bestFit);
  auto place = [&](int32_t index, int64_t offset) {
    const Span &span = problem.spans[index];
    placed.insert(span, offset);
    result.offsets[index] = offset;
    result.height = std::max(result.height, offset + span.size);
  };
  for (int32_t index : order)
    if (problem.spans[index].fixedOffset >= 0)
      place(index, problem.spans[index].fixedOffset);
  for (int32_t index : order)
    if (problem.spans[index].fixedOffset < 0)
      place(index, placed.findOffset(problem.spans[index]));
  return result;
}

std::vector<int64_t> tts::packing::contention(const Problem &problem) {
  // Sparse table of maxima over the sections.
  std::vector<std::vector<int64_t>> table{sectionLoads(problem)};
  for (size_t step = 1; 2 * step <= table[0].size(); step *= 2) {
    const std::vector<int64_t> &below = table.back();
    std::vector<int64_t> level(below.size() - step);
    for (size_t i = 0; i < level.size(); ++i)
      level[i] = std::max(below[i], below[i + step]);
    table.push_back(std::move(level));
  }
  std::vector<int64_t> result;
  for (const Span &span : problem.spans) {
    int level = 0;
    while ((2 << level) <= span.end - span.begin)
      ++level;
    result.push_back(std::max(table[level][span.begin],
                              table[level][span.end - (1 << level)]));
  }
  return result;
}

std::vector<int32_t> tts::packing::orderOf(const Problem &problem,
                                           Order order) {
  std::vector<int64_t> loads;
  if (order == Order::Contention)
    loads = contention(problem);
  auto key = [&](int32_t index) -> std::pair<double, double> {
    const Span &span = problem.spans[index];
    double length = span.end - span.begin, size = double(span.size);
    switch (order) {
    case Order::Size:
      return {size, length};
    case Order::Area:
      return {size * length, size};
    case Order::Length:
      return {length, size};
    case Order::Contention:
      return {double(loads[index]), size * length};
    case Order::Begin:
      return {-double(span.begin), size};
    }
    return {};
  };
  std::vector<std::pair<double, double>> keys;
  for (size_t i = 0; i < problem.spans.size(); ++i)
    keys.push_back(key(int32_t(i)));
  std::vector<int32_t> result(problem.spans.size());
  std::iota(result.begin(), result.end(), 0);
  std::stable_sort(result.begin(), result.end(),
                   [&](int32_t a, int32_t b) { return keys[a] > keys[b]; });
  return result;
}

Placement tts::packing::packGreedy(const Problem &problem, int64_t target) {
  Placement best;
  for (Order order : {Order::Size, Order::Area, Order::Length,
                      Order::Contention, Order::Begin}) {
    std::vector<int32_t> spans = orderOf(problem, order);
    for (bool bestFit : {false, true}) {
      Placement tried = placeInOrder(problem, spans, bestFit);
      if (tried.height < best.height)
        best = std::move(tried);
      if (best.height <= target)
        return best;
    }
  }
  return best;
}

void tts::packing::improveBySqueakyWheel(const Problem &problem, int64_t target,
                                         const Options &options,
                                         Placement &best) {
  const int64_t count = int64_t(problem.spans.size());
  const int64_t rounds = std::min(options.squeakyRounds,
                                  options.squeakyWork / (count * count));
  for (Order start : {Order::Area, Order::Size}) {
    std::vector<int32_t> order = orderOf(problem, start);
    for (int64_t round = 0; round < rounds / 2; ++round) {
      if (best.height <= target)
        return;
      Placement tried = placeInOrder(problem, order, true);
      // The blame of an item is how far it stands above the target; the worst
      // move forward past a part of those before them.
      std::vector<double> rank(count);
      for (int64_t i = 0; i < count; ++i) {
        const Span &span = problem.spans[order[i]];
        int64_t top = tried.offsets[order[i]] + span.size;
        rank[order[i]] = top > target ? double(i) * 0.6 : double(i);
      }
      std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
        return rank[a] < rank[b];
      });
      if (tried.height < best.height)
        best = std::move(tried);
    }
  }
}
