// Canonical coordinates of a packing problem, its lower bound, and the check of
// a layout.
#include "Problem.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>

using namespace tts::packing;

static bool takesSpace(const Item &item) {
  return item.size > 0 && item.begin < item.end;
}

int64_t tts::packing::maxLive(const std::vector<Item> &items) {
  // Ends before begins at the same time: the intervals are half-open.
  std::vector<std::pair<int64_t, int64_t>> changes;
  for (const Item &item : items)
    if (takesSpace(item)) {
      changes.push_back({item.begin, item.size});
      changes.push_back({item.end, -item.size});
    }
  std::sort(changes.begin(), changes.end());
  int64_t live = 0, most = 0;
  for (const auto &change : changes)
    most = std::max(most, live += change.second);
  return most;
}

int64_t tts::packing::commonUnit(const std::vector<Item> &items) {
  int64_t unit = 0;
  for (const Item &item : items)
    if (takesSpace(item)) {
      unit = std::gcd(unit, item.alignment);
      if (item.fixedOffset > 0)
        unit = std::gcd(unit, item.fixedOffset);
    }
  return std::max<int64_t>(unit, 1);
}

Problem tts::packing::makeProblem(const std::vector<Item> &items,
                                  int64_t unit) {
  std::vector<int64_t> times;
  for (const Item &item : items)
    if (takesSpace(item)) {
      times.push_back(item.begin);
      times.push_back(item.end);
    }
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  auto rank = [&](int64_t time) {
    return int32_t(std::lower_bound(times.begin(), times.end(), time) -
                   times.begin());
  };
  std::vector<Span> spans;
  for (size_t i = 0; i < items.size(); ++i) {
    const Item &item = items[i];
    if (!takesSpace(item))
      continue;
    int64_t fixed = item.fixedOffset < 0 ? -1 : item.fixedOffset / unit;
    spans.push_back({rank(item.begin), rank(item.end),
                     (item.size + unit - 1) / unit, item.alignment / unit,
                     fixed, int32_t(i)});
  }
  return canonicalize(std::move(spans));
}

Problem tts::packing::canonicalize(std::vector<Span> spans) {
  // A begin that follows an end opens a section: between two such begins the
  // live set only grows, so its members all meet in one section.
  int32_t last = 0;
  for (const Span &span : spans)
    last = std::max(last, span.end);
  std::vector<char> begins(last + 1, 0), ends(last + 1, 0);
  for (const Span &span : spans)
    begins[span.begin] = ends[span.end] = 1;
  std::vector<int32_t> section(last + 1, 0);
  int32_t current = -1;
  bool ended = true;
  for (int32_t time = 0; time <= last; ++time) {
    ended |= ends[time] != 0;
    if (begins[time] && ended) {
      ++current;
      ended = false;
    }
    section[time] = current;
  }
  Problem problem;
  problem.numSections = current + 1;
  for (Span &span : spans) {
    span.begin = section[span.begin];
    span.end = section[span.end - 1] + 1;
  }
  problem.spans = std::move(spans);
  std::vector<int64_t> loads = sectionLoads(problem);
  for (int64_t load : loads)
    problem.lowerBound = std::max(problem.lowerBound, load);
  return problem;
}

std::vector<int64_t> tts::packing::sectionLoads(const Problem &problem) {
  std::vector<int64_t> loads(problem.numSections + 1, 0);
  for (const Span &span : problem.spans) {
    loads[span.begin] += span.size;
    loads[span.end] -= span.size;
  }
  for (int32_t s = 1; s <= problem.numSections; ++s)
    loads[s] += loads[s - 1];
  loads.pop_back();
  return loads;
}

std::optional<std::string>
tts::packing::findFault(const std::vector<Item> &items, const Layout &layout) {
  if (layout.offsets.size() != items.size())
    return "the layout has another number of items";
  struct Event {
    int64_t time;
    bool begin;
    size_t item;
  };
  std::vector<Event> events;
  for (size_t i = 0; i < items.size(); ++i) {
    const Item &item = items[i];
    int64_t offset = layout.offsets[i];
    std::string name = "item " + std::to_string(i);
    if (offset < 0 || offset % item.alignment != 0)
      return name + " is misaligned";
    if (item.fixedOffset >= 0 && offset != item.fixedOffset)
      return name + " is not at its fixed offset";
    if (!takesSpace(item))
      continue;
    if (offset + item.size > layout.height)
      return name + " ends above the height";
    events.push_back({item.begin, true, i});
    events.push_back({item.end, false, i});
  }
  std::sort(events.begin(), events.end(), [](const Event &a, const Event &b) {
    return std::tie(a.time, a.begin, a.item) <
           std::tie(b.time, b.begin, b.item);
  });
  // Live items by offset: a new one may only meet its two neighbours.
  std::set<std::pair<int64_t, size_t>> live;
  for (const Event &event : events) {
    std::pair<int64_t, size_t> key(layout.offsets[event.item], event.item);
    if (!event.begin) {
      live.erase(key);
      continue;
    }
    auto place = live.insert(key).first;
    auto above = std::next(place);
    bool clash = above != live.end() &&
                 key.first + items[event.item].size > above->first;
    if (place != live.begin()) {
      auto below = std::prev(place);
      clash |= below->first + items[below->second].size > key.first;
    }
    if (clash)
      return "item " + std::to_string(event.item) +
             " shares bytes with a neighbour at time " +
             std::to_string(event.time);
  }
  return std::nullopt;
}
