// Exact search: is there a placement of height at most `capacity`?
//
// The state is a skyline: nothing unplaced will lie below it. Take its lowest
// valley. In a placement whose items all rest on something, the lowest item
// inside the valley rests on its floor, or none lies below its lower rim. So
// the branches are "the leftmost (or rightmost) item that rests here is i" and
// "none does": what lies beside i is then raised to its lower rim. A raise is
// waste, and waste is limited by the slack of every section: capacity minus
// skyline minus what is still to be placed there. When no unplaced item crosses
// a boundary the two sides are searched apart.
#include "Search.h"

#include <algorithm>

using namespace tts::packing;

namespace {

class SkylineSearch {
public:
  SkylineSearch(const Problem &problem, int64_t capacity,
                const Strategy &strategy, int64_t work)
      : problem(problem), capacity(capacity), strategy(strategy), work(work) {
    const std::vector<int32_t> &order = strategy.order;
    rank.resize(order.size());
    for (size_t i = 0; i < order.size(); ++i)
      rank[order[i]] = int32_t(i);
    const int32_t sections = problem.numSections;
    floor.assign(sections, 0);
    slack.assign(sections, capacity);
    crossing.assign(sections + 1, 0);
    starting.assign(sections + 1, 0);
    byBegin.resize(sections);
    byEnd.resize(sections + 1);
    placed.assign(order.size(), 0);
    offsets.assign(order.size(), 0);
    for (int32_t index : order) {
      const Span &span = problem.spans[index];
      byBegin[span.begin].push_back(index);
      byEnd[span.end].push_back(index);
      ++starting[span.begin];
      for (int32_t s = span.begin + 1; s < span.end; ++s)
        ++crossing[s];
      for (int32_t s = span.begin; s < span.end; ++s)
        slack[s] -= span.size;
    }
  }

  Outcome run() {
    for (int64_t each : slack)
      if (each < 0)
        return Outcome::Impossible;
    return solveParts(0, problem.numSections);
  }

  int64_t workLeft() const { return work; }
  std::vector<int64_t> offsets;

private:
  static constexpr int64_t wall = INT64_MAX / 4;
  const Problem &problem;
  const int64_t capacity;
  const Strategy &strategy;
  int64_t work;
  std::vector<int32_t> rank;
  std::vector<int64_t> floor, slack;
  std::vector<int32_t> crossing, starting;
  std::vector<std::vector<int32_t>> byBegin, byEnd;
  std::vector<char> placed;

  struct Valley {
    int32_t begin, end;
    int64_t height, left, right; ///< the floor, and the rims beside it
  };
  /// Item `index` rests in the valley; what lies between it and one side of
  /// the valley rises by `raise`. Index -1: nothing rests, everything rises.
  struct Choice {
    int32_t index;
    int64_t raise;
  };
  /// One change of a flat stretch of the skyline: item `index` placed upon the
  /// height `amount`, or (-1) a raise by `amount`.
  struct Change {
    int32_t begin, end, index;
    int64_t amount;
  };
  std::vector<Change> trail;

  void raise(int32_t begin, int32_t end, int64_t by) {
    trail.push_back({begin, end, -1, by});
    for (int32_t s = begin; s < end; ++s) {
      floor[s] += by;
      slack[s] -= by;
    }
  }
  int64_t least(int32_t begin, int32_t end) const {
    int64_t result = wall;
    for (int32_t s = begin; s < end; ++s)
      result = std::min(result, slack[s]);
    return result;
  }

  /// Splits [begin, end) where nothing unplaced crosses; every part must do.
  Outcome solveParts(int32_t begin, int32_t end) {
    work -= (end - begin) / 8 + 1;
    int32_t first = begin, items = 0;
    for (int32_t s = begin; s < end; ++s) {
      items += starting[s];
      if (s + 1 < end && crossing[s + 1] > 0)
        continue;
      if (items > 0) {
        Outcome outcome = solve(first, s + 1);
        if (outcome != Outcome::Placed)
          return outcome;
      }
      first = s + 1;
      items = 0;
    }
    return Outcome::Placed;
  }

  Valley lowestValley(int32_t begin, int32_t end) const {
    auto lowest = std::min_element(floor.begin() + begin, floor.begin() + end);
    Valley valley{int32_t(lowest - floor.begin()), 0, *lowest, wall, wall};
    valley.end = valley.begin + 1;
    while (valley.end < end && floor[valley.end] == valley.height)
      ++valley.end;
    if (valley.begin > begin)
      valley.left = floor[valley.begin - 1];
    if (valley.end < end)
      valley.right = floor[valley.end];
    return valley;
  }

  /// The local minimum with the least slack, the shortest among equals.
  Valley tightestValley(int32_t begin, int32_t end) const {
    Valley best{0, 0, 0, 0, 0};
    int64_t bestSlack = INT64_MAX;
    forEachValley(begin, end, [&](const Valley &valley) {
      int64_t tight = least(valley.begin, valley.end);
      int32_t length = valley.end - valley.begin;
      if (tight < bestSlack ||
          (tight == bestSlack && length < best.end - best.begin)) {
        bestSlack = tight;
        best = valley;
      }
      return true;
    });
    return best;
  }

  /// Calls `visit` for the local minima from left to right until it is false.
  template <typename Visit>
  void forEachValley(int32_t begin, int32_t end, Visit visit) const {
    for (int32_t s = begin; s < end;) {
      int32_t stop = s + 1;
      while (stop < end && floor[stop] == floor[s])
        ++stop;
      int64_t left = s == begin ? wall : floor[s - 1];
      int64_t right = stop == end ? wall : floor[stop];
      if (left > floor[s] && right > floor[s] &&
          !visit(Valley{s, stop, floor[s], left, right}))
        return;
      s = stop;
    }
  }

  /// What may rest leftmost (or rightmost) in the valley, best first.
  std::vector<Choice> choices(const Valley &valley, bool fromLeft) {
    std::vector<Choice> found;
    const int64_t rim = fromLeft ? valley.left : valley.right;
    int64_t gapSlack = wall;   // of the sections between side and item
    int64_t leastInGap = wall; // size of an item that lies in the gap
    int64_t leastSize = wall;
    std::vector<std::pair<int32_t, int64_t>> seen; // far end, size
    const int32_t length = valley.end - valley.begin;
    for (int32_t gap = 0; gap < length; ++gap) {
      const int32_t section =
          fromLeft ? valley.begin + gap : valley.end - 1 - gap;
      if (gap > 0) {
        gapSlack =
            std::min(gapSlack, slack[fromLeft ? section - 1 : section + 1]);
        if (gapSlack <= 0)
          break;
      }
      const auto &list = fromLeft ? byBegin[section] : byEnd[section + 1];
      work -= int64_t(list.size()) / 4 + 1;
      for (int32_t index : list) {
        const Span &span = problem.spans[index];
        if (placed[index] ||
            (fromLeft ? span.end > valley.end : span.begin < valley.begin))
          continue;
        leastSize = std::min(leastSize, span.size);
        seen.push_back(
            {fromLeft ? span.end - valley.begin : valley.end - span.begin,
             span.size});
        leastInGap = wall;
        if (gap > 0)
          for (const auto &each : seen)
            if (each.first <= gap)
              leastInGap = std::min(leastInGap, each.second);
        work -= gap > 0 ? int64_t(seen.size()) / 8 : 0;
        const int64_t offset = alignUp(valley.height, span.alignment);
        const int64_t lift = std::min(rim, offset + span.size) - valley.height;
        // An item that fits wholly into the gap could sink there: dominated.
        if (gap > 0 && (lift > gapSlack || leastInGap <= lift))
          continue;
        if (offset > valley.height &&
            offset - valley.height > least(span.begin, span.end))
          continue;
        found.push_back({index, gap > 0 ? lift : 0});
      }
    }
    std::sort(found.begin(), found.end(),
              [&](const Choice &a, const Choice &b) {
                bool gapA = a.raise > 0, gapB = b.raise > 0;
                return gapA != gapB ? gapB : rank[a.index] < rank[b.index];
              });
    const int64_t lift = std::min(valley.left, valley.right) - valley.height;
    if (lift < wall / 2 && lift < smallestInside(valley) &&
        lift <= least(valley.begin, valley.end))
      found.push_back({-1, lift});
    return found;
  }

  int64_t smallestInside(const Valley &valley) {
    int64_t result = wall;
    for (int32_t s = valley.begin; s < valley.end; ++s)
      if (starting[s] > 0)
        for (int32_t index : byBegin[s])
          if (!placed[index] && problem.spans[index].end <= valley.end)
            result = std::min(result, problem.spans[index].size);
    work -= (valley.end - valley.begin) / 4 + 1;
    return result;
  }

  void place(int32_t index, int64_t offset) {
    const Span &span = problem.spans[index];
    const int64_t height = floor[span.begin];
    trail.push_back({span.begin, span.end, index, height});
    placed[index] = 1;
    offsets[index] = offset;
    --starting[span.begin];
    for (int32_t s = span.begin; s < span.end; ++s) {
      slack[s] -= offset - height;
      floor[s] = offset + span.size;
    }
    for (int32_t s = span.begin + 1; s < span.end; ++s)
      --crossing[s];
  }

  void undoTo(size_t mark) {
    for (; trail.size() > mark; trail.pop_back()) {
      const Change &change = trail.back();
      if (change.index < 0) {
        for (int32_t s = change.begin; s < change.end; ++s) {
          floor[s] -= change.amount;
          slack[s] += change.amount;
        }
        continue;
      }
      placed[change.index] = 0;
      ++starting[change.begin];
      for (int32_t s = change.begin; s < change.end; ++s) {
        slack[s] += offsets[change.index] - change.amount;
        floor[s] = change.amount;
      }
      for (int32_t s = change.begin + 1; s < change.end; ++s)
        ++crossing[s];
    }
  }

  /// Nothing unplaced overlaps the item any more.
  bool isCovered(const Span &span) const {
    for (int32_t s = span.begin; s < span.end; ++s)
      if (capacity - floor[s] != slack[s])
        return false;
    return true;
  }

  /// The branches at one valley.
  struct Branches {
    Valley valley{0, 0, 0, 0, 0};
    std::vector<Choice> choices;
    bool fromLeft = true;
    bool isForcedRaise() const {
      return choices.size() == 1 && choices[0].index < 0;
    }
  };

  /// From the side that leaves fewer choices.
  Branches branchesAt(const Valley &valley) {
    Branches result{valley, choices(valley, true), true};
    if (result.choices.size() > 1) {
      std::vector<Choice> right = choices(valley, false);
      if (right.size() < result.choices.size()) {
        result.choices = std::move(right);
        result.fromLeft = false;
      }
    }
    return result;
  }

  Branches fewestBranches(int32_t begin, int32_t end) {
    Branches best;
    bool first = true;
    forEachValley(begin, end, [&](const Valley &valley) {
      Branches here = branchesAt(valley);
      const size_t few = here.choices.size(), fewest = best.choices.size();
      if (first || few < fewest ||
          (few == fewest && valley.height < best.valley.height))
        best = std::move(here);
      first = false;
      return !best.choices.empty() && !best.isForcedRaise();
    });
    return best;
  }

  /// Leaves the changes of a failure on the trail: the caller undoes them.
  Outcome solve(int32_t begin, int32_t end) {
    while (true) {
      if (work < 0)
        return Outcome::OutOfWork;
      work -= (end - begin) / 8 + 1;
      Branches branches;
      switch (strategy.pick) {
      case ValleyPick::Lowest:
        branches = branchesAt(lowestValley(begin, end));
        break;
      case ValleyPick::Tightest:
        branches = branchesAt(tightestValley(begin, end));
        break;
      case ValleyPick::FewestChoices:
        branches = fewestBranches(begin, end);
        break;
      }
      if (!branches.isForcedRaise())
        return branch(begin, end, branches);
      raise(branches.valley.begin, branches.valley.end,
            branches.choices[0].raise);
    }
  }

  Outcome branch(int32_t begin, int32_t end, const Branches &branches) {
    const Valley &valley = branches.valley;
    const size_t mark = trail.size();
    for (const Choice &choice : branches.choices) {
      if (choice.index < 0) {
        raise(valley.begin, valley.end, choice.raise);
        Outcome outcome = solve(begin, end);
        if (outcome != Outcome::Impossible)
          return outcome;
        undoTo(mark);
        continue;
      }
      const Span &span = problem.spans[choice.index];
      if (choice.raise > 0) {
        if (branches.fromLeft)
          raise(valley.begin, span.begin, choice.raise);
        else
          raise(span.end, valley.end, choice.raise);
      }
      place(choice.index, alignUp(valley.height, span.alignment));
      const bool tookNothing = choice.raise == 0 && isCovered(span);
      Outcome outcome = solveParts(begin, end);
      if (outcome != Outcome::Impossible)
        return outcome;
      undoTo(mark);
      if (tookNothing)
        return Outcome::Impossible; // the rest fails with or without it
    }
    return Outcome::Impossible;
  }
};

} // namespace

Outcome tts::packing::searchSkyline(const Problem &problem, int64_t capacity,
                                    const Strategy &strategy, int64_t &work,
                                    std::vector<int64_t> &offsets) {
  SkylineSearch search(problem, capacity, strategy, work);
  Outcome outcome = search.run();
  work = std::max<int64_t>(search.workLeft(), 0);
  if (outcome == Outcome::Placed)
    offsets = std::move(search.offsets);
  return outcome;
}
