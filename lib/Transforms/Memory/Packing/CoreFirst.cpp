// The fullest sections first: where the load is near the bound every byte
// counts and little is alive, so an exact search packs them; all else has room
// to spare, and a greedy order by length fits it around them.
#include "Problem.h"

#include <algorithm>

using namespace tts::packing;

namespace {

/// Sections [begin, end).
struct Window {
  int32_t begin, end;
};

/// The sections around the fullest that hold more than `share` of its load.
Window windowAround(const std::vector<int64_t> &loads, double share) {
  const auto peak = std::max_element(loads.begin(), loads.end());
  const double limit = share * double(*peak);
  Window window{int32_t(peak - loads.begin()), 0};
  window.end = window.begin + 1;
  while (window.begin > 0 && double(loads[window.begin - 1]) > limit)
    --window.begin;
  while (window.end < int32_t(loads.size()) &&
         double(loads[window.end]) > limit)
    ++window.end;
  return window;
}

/// What is live in the window, cut to it, in the given order: it is the order
/// of those that fill the window.
Problem coreOf(const Problem &problem, const std::vector<int32_t> &order,
               Window window) {
  std::vector<Span> spans;
  for (int32_t index : order) {
    Span span = problem.spans[index];
    if (span.begin >= window.end || span.end <= window.begin)
      continue;
    span.begin = std::max(span.begin, window.begin);
    span.end = std::min(span.end, window.end);
    span.source = index;
    spans.push_back(span);
  }
  return canonicalize(std::move(spans));
}

/// A core and its greedy completions.
class CoreFirst {
public:
  CoreFirst(const Problem &problem, int64_t target, const Options &options,
            Placement &best)
      : problem(problem), target(target), options(options), best(best),
        byLength(orderOf(problem, Order::Length)), coreOrder(byLength) {
    // Ties by the caller's order: neighbours in time then lie side by side and
    // leave one hole when they end.
    auto length = [&](int32_t index) {
      return problem.spans[index].end - problem.spans[index].begin;
    };
    std::sort(coreOrder.begin(), coreOrder.end(), [&](int32_t a, int32_t b) {
      return length(a) != length(b) ? length(a) > length(b) : a < b;
    });
    const double count = double(problem.spans.size());
    const double afforded = 8 * double(options.squeakyWork) / (count * count);
    placementsLeft =
        std::max(1, int(std::min(double(maxPlacements), afforded)));
  }

  void run() {
    const std::vector<int64_t> loads = sectionLoads(problem);
    Window last{0, 0};
    for (double share : {0.999, 0.92, 0.85}) {
      const Window window = windowAround(loads, share);
      if (window.end - window.begin == last.end - last.begin)
        continue;
      last = window;
      if (!placeCore(window))
        continue;
      for (bool bestFit : {false, true})
        if (complete(bestFit, share > 0.99 && !bestFit ? 3 : 2))
          return;
    }
  }

private:
  static constexpr int maxPlacements = 12;
  const Problem &problem;
  const int64_t target;
  const Options &options;
  Placement &best;
  const std::vector<int32_t> byLength;
  std::vector<int32_t> coreOrder;
  Problem withCore; ///< the problem with the core's offsets fixed
  int placementsLeft;

  bool placeCore(Window window) {
    const Problem core = coreOf(problem, coreOrder, window);
    Options limited = options;
    limited.searchWork = options.searchWork / 256;
    limited.squeakyWork = options.squeakyWork / 256;
    const Placement placed = packByParts(core, target, limited);
    if (placed.height > target)
      return false;
    withCore = problem;
    for (size_t i = 0; i < core.spans.size(); ++i)
      withCore.spans[core.spans[i].source].fixedOffset = placed.offsets[i];
    return true;
  }

  /// Places the rest; what ends above the target is placed first in the next
  /// round. True when nothing is left to do.
  bool complete(bool bestFit, int rounds) {
    std::vector<int32_t> order = byLength;
    for (int round = 0; round < rounds; ++round) {
      if (placementsLeft-- <= 0)
        return true;
      Placement tried = placeInOrder(withCore, order, bestFit);
      std::stable_partition(order.begin(), order.end(), [&](int32_t index) {
        return tried.offsets[index] + problem.spans[index].size > target;
      });
      if (tried.height < best.height)
        best = std::move(tried);
      if (best.height <= target)
        return true;
    }
    return false;
  }
};

} // namespace

void tts::packing::packCoreFirst(const Problem &problem, int64_t target,
                                 const Options &options, Placement &best) {
  CoreFirst(problem, target, options, best).run();
}
