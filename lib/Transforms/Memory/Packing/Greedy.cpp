// Greedy placement in a given order, and reordering by squeaky wheel.
#include "PlacedList.h"

#include <algorithm>
#include <numeric>

using namespace tts::packing;

Placement tts::packing::placeInOrder(const Problem &problem,
                                     const std::vector<int32_t> &order,
                                     bool bestFit) {
  Placement result;
  result.offsets.assign(problem.spans.size(), 0);
  result.height = 0;
  PlacedList placed(problem, bestFit);
  auto place = [&](int32_t index, int64_t offset) {
    placed.insert(index, offset);
    result.offsets[index] = offset;
    result.height = std::max(result.height, offset + problem.spans[index].size);
  };
  for (int32_t index : order)
    if (problem.spans[index].fixedOffset >= 0)
      place(index, problem.spans[index].fixedOffset);
  for (int32_t index : order)
    if (problem.spans[index].fixedOffset < 0)
      place(index, placed.findOffset(index));
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
  // The first two win nearly always; the others are for small problems, where
  // they cost nothing.
  static constexpr size_t small = 10'000;
  std::vector<Order> orders = {Order::Size, Order::Length};
  if (problem.spans.size() <= small)
    orders.insert(orders.end(), {Order::Area, Order::Contention, Order::Begin});
  Placement best;
  for (Order order : orders) {
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
  const int64_t rounds =
      std::min(options.squeakyRounds, options.squeakyWork / (count * count));
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
      std::stable_sort(order.begin(), order.end(),
                       [&](int32_t a, int32_t b) { return rank[a] < rank[b]; });
      if (tried.height < best.height)
        best = std::move(tried);
    }
  }
}
