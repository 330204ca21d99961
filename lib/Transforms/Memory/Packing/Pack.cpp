// The order of attempts: take the problem apart, then the fullest sections
// first, exact search, greedy orders and squeaky wheel on each part.
#include "Problem.h"

#include <algorithm>

using namespace tts::packing;

namespace {

/// Packs a problem without fixed offsets by parts.
class Packer {
public:
  Packer(const Options &options, size_t count, bool coreFirst)
      : options(options), coreFirst(coreFirst) {
    offsets.assign(count, 0);
  }

  /// Packs the spans from `base` up and returns the height. What is live in all
  /// sections goes to the bottom (it cuts the space for all others anyway);
  /// where nothing crosses a boundary the two sides do not meet.
  int64_t pack(Problem problem, int64_t base) {
    std::vector<Span> everywhere, rest;
    for (const Span &span : problem.spans)
      (span.end - span.begin == problem.numSections ? everywhere : rest)
          .push_back(span);
    std::stable_sort(
        everywhere.begin(), everywhere.end(),
        [](const Span &a, const Span &b) { return a.alignment > b.alignment; });
    int64_t top = base;
    for (const Span &span : everywhere) {
      offsets[span.source] = alignUp(top, span.alignment);
      top = offsets[span.source] + span.size;
    }
    if (rest.empty())
      return top;
    int64_t height = top;
    std::vector<std::vector<Span>> parts = split(rest, problem.numSections);
    const bool whole = everywhere.empty() && parts.size() == 1;
    for (std::vector<Span> &part : parts) {
      Problem sub = canonicalize(std::move(part));
      height = std::max(height,
                        whole ? packPart(sub, top) : pack(std::move(sub), top));
    }
    return height;
  }

  std::vector<int64_t> offsets; ///< by source
  int64_t target = 0;           ///< in units, from offset 0

private:
  const Options &options;
  const bool coreFirst;

  static std::vector<std::vector<Span>> split(const std::vector<Span> &spans,
                                              int32_t sections) {
    std::vector<int32_t> crossing(sections + 1, 0);
    for (const Span &span : spans) {
      ++crossing[span.begin + 1];
      --crossing[span.end];
    }
    std::vector<int32_t> partOf(sections, 0);
    int32_t live = 0, part = 0;
    for (int32_t s = 1; s < sections; ++s) {
      live += crossing[s];
      part += live == 0;
      partOf[s] = part;
    }
    std::vector<std::vector<Span>> parts(part + 1);
    for (const Span &span : spans)
      parts[partOf[span.begin]].push_back(span);
    parts.erase(std::remove_if(parts.begin(), parts.end(),
                               [](const auto &p) { return p.empty(); }),
                parts.end());
    return parts;
  }

  int64_t packPart(const Problem &problem, int64_t base) {
    // Bases of differently aligned parts: start where any alignment is met.
    int64_t alignment = 1;
    for (const Span &span : problem.spans)
      alignment = std::max(alignment, span.alignment);
    base = alignUp(base, alignment);
    const int64_t aim = std::max(problem.lowerBound, target - base);
    Placement best;
    if (coreFirst)
      packCoreFirst(problem, aim, options, best);
    const bool searched = problem.spans.size() <= maxSearched;
    if (searched)
      searchForTarget(problem, aim, options.searchWork / 2, best);
    if (best.height > aim) {
      Placement greedy = packGreedy(problem, aim);
      if (greedy.height < best.height)
        best = std::move(greedy);
    }
    improveBySqueakyWheel(problem, aim, options, best);
    if (searched)
      searchByBisection(problem, aim, options.searchWork / 2, best);
    for (size_t i = 0; i < problem.spans.size(); ++i)
      offsets[problem.spans[i].source] = base + best.offsets[i];
    return base + best.height;
  }

  /// The search recurses once an item; above this it would find nothing.
  static constexpr size_t maxSearched = 6000;
};

} // namespace

Placement tts::packing::packByParts(const Problem &problem, int64_t target,
                                    const Options &options) {
  Problem copy = problem;
  for (size_t i = 0; i < copy.spans.size(); ++i)
    copy.spans[i].source = int32_t(i);
  Packer packer(options, copy.spans.size(), /*coreFirst=*/false);
  packer.target = target;
  Placement result;
  result.height = packer.pack(std::move(copy), 0);
  result.offsets = std::move(packer.offsets);
  return result;
}

Layout tts::packing::pack(const std::vector<Item> &items,
                          const Options &options) {
  const int64_t unit = commonUnit(items);
  Problem problem = makeProblem(items, unit);
  const int64_t target = std::max(problem.lowerBound, options.target / unit);
  Layout layout;
  layout.offsets.assign(items.size(), 0);
  bool fixed = false;
  for (const Span &span : problem.spans)
    fixed |= span.fixedOffset >= 0;
  std::vector<int64_t> offsets(items.size(), 0);
  if (fixed) {
    Placement best = packGreedy(problem, target);
    improveBySqueakyWheel(problem, target, options, best);
    for (size_t i = 0; i < problem.spans.size(); ++i)
      offsets[problem.spans[i].source] = best.offsets[i];
  } else if (!problem.spans.empty()) {
    Packer packer(options, items.size(), /*coreFirst=*/true);
    packer.target = target;
    packer.pack(problem, 0);
    offsets = std::move(packer.offsets);
  }
  for (const Span &span : problem.spans) {
    const int64_t offset = offsets[span.source] * unit;
    layout.offsets[span.source] = offset;
    layout.height = std::max(layout.height, offset + items[span.source].size);
  }
  for (size_t i = 0; i < items.size(); ++i)
    if (items[i].fixedOffset >= 0)
      layout.offsets[i] = items[i].fixedOffset;
  return layout;
}
