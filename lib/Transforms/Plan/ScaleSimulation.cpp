//===- ScaleSimulation.cpp - an update on many ranks, task by task -------===//
//
// Processors and links take their tasks in the order in which a rank issues
// them; a task begins when its own is free and what it waits for has ended.
//
//===----------------------------------------------------------------------===//

#include "ScaleParts.h"

#include "llvm/ADT/SmallVector.h"
#include <algorithm>

using namespace tts::plan;

namespace {

/// Ends of tasks by what they run on.
class Clock {
public:
  explicit Clock(size_t resources) : free(resources, 0) {}

  /// Runs a task that waits for `after`; returns when it ends.
  double run(size_t resource, double seconds, double after) {
    double &end = free[resource];
    end = std::max(end, after) + seconds;
    last = std::max(last, end);
    return end;
  }
  double end() const { return last; }

private:
  std::vector<double> free;
  double last = 0;
};

/// Where collectives do not overlap, they are the processor's.
struct Replica {
  size_t processor, link;
};

/// A replica of the one stage there is.
class DataParallel {
public:
  DataParallel(const ScaleParts &p, Sharding sharding, bool overlaps)
      : p(p), sharding(sharding), clock(2), on{0, overlaps ? size_t(1) : 0} {}

  double run() {
    for (int64_t k = 0; k < p.microBatches; ++k) {
      bool isLast = k + 1 == p.microBatches;
      if (sharding == Sharding::Parameters)
        runGathering();
      else
        runWhole(isLast);
    }
    double updated = clock.run(on.processor, p.update, clock.end());
    if (sharding == Sharding::Optimizer || sharding == Sharding::Gradients)
      clock.run(on.link, p.pieces * p.gather, updated);
    return clock.end();
  }

private:
  void runWhole(bool isLast) {
    clock.run(on.processor, p.pieces * p.forward, 0);
    bool isSent = isLast || sharding == Sharding::Gradients;
    double transfer = sharding == Sharding::None ? p.reduce : p.scatter;
    for (int64_t i = 0; i < p.pieces; ++i) {
      double end = clock.run(on.processor, p.backward, 0);
      if (isSent)
        clock.run(on.link, transfer, end);
    }
  }

  /// The next piece is fetched while one is used, and no earlier: there is room
  /// for two.
  void runGathering() {
    pass(p.forward, 0);
    pass(p.backward, p.scatter);
  }
  void pass(double seconds, double transfer) {
    double before = clock.end(), used = before, made = before;
    for (int64_t i = 0; i < p.pieces; ++i) {
      double fetched = clock.run(on.link, p.gather, before);
      if (i > 0 && transfer > 0)
        clock.run(on.link, transfer, made);
      before = used;
      made = used = clock.run(on.processor, seconds, fetched);
    }
    if (transfer > 0)
      clock.run(on.link, transfer, made);
  }

  const ScaleParts &p;
  Sharding sharding;
  Clock clock;
  Replica on;
};

/// All stages of one replica, one forward and one backward in turn (1F1B).
class Pipeline {
public:
  Pipeline(const ScaleParts &p, const ScaleLayout &layout, bool overlaps)
      : p(p), layout(layout), overlaps(overlaps), clock(2 * layout.stages),
        forward(layout.stages), backward(layout.stages) {}

  double run() {
    // Tasks of a stage in its order; stages in turns until all are through.
    std::vector<llvm::SmallVector<Task>> lists;
    for (int64_t s = 0; s < layout.stages; ++s)
      lists.push_back(orderOf(s));
    std::vector<size_t> next(lists.size(), 0);
    for (bool moved = true; moved;) {
      moved = false;
      for (int64_t s = 0; s < layout.stages; ++s)
        while (next[s] < lists[s].size() && tryRun(s, lists[s][next[s]])) {
          ++next[s];
          moved = true;
        }
    }
    for (int64_t s = 0; s < layout.stages; ++s)
      finish(s);
    return clock.end();
  }

private:
  struct Task {
    bool isForward;
    int64_t microBatch;
  };

  llvm::SmallVector<Task> orderOf(int64_t s) const {
    llvm::SmallVector<Task> order;
    int64_t ahead = std::min(layout.stages - s - 1, p.microBatches), f = 0;
    while (f < ahead)
      order.push_back({true, f++});
    for (int64_t b = 0; b < p.microBatches; ++b) {
      if (f < p.microBatches)
        order.push_back({true, f++});
      order.push_back({false, b});
    }
    return order;
  }

  bool tryRun(int64_t s, Task task) {
    size_t m = task.microBatch;
    bool isFirst = task.isForward ? s == 0 : s + 1 == layout.stages;
    std::vector<double> &own = task.isForward ? forward[s] : backward[s];
    double after = 0;
    if (!isFirst) {
      const auto &from = task.isForward ? forward[s - 1] : backward[s + 1];
      if (from.size() <= m)
        return false;
      after = from[m] + p.send;
    }
    if (task.isForward) {
      own.push_back(clock.run(2 * s, p.pieces * p.forward, after));
      return true;
    }
    bool isLast = task.microBatch + 1 == p.microBatches;
    double end = after;
    for (int64_t i = 0; i < p.pieces; ++i) {
      end = clock.run(2 * s, p.backward, end);
      if (overlaps && isLast && layout.data > 1)
        clock.run(2 * s + 1, transfer(), end);
    }
    own.push_back(end);
    if (!overlaps && isLast && layout.data > 1)
      clock.run(2 * s, p.pieces * transfer(), end);
    return true;
  }

  double transfer() const {
    return layout.sharding == Sharding::None ? p.reduce : p.scatter;
  }

  /// The norm over all gradients joins the stages before any updates.
  void finish(int64_t s) {
    if (s == 0)
      all = clock.end();
    double updated = clock.run(2 * s, p.update, all);
    if (layout.sharding != Sharding::None && layout.data > 1)
      clock.run(2 * s, p.pieces * p.gather, updated);
  }

  const ScaleParts &p;
  ScaleLayout layout;
  bool overlaps;
  Clock clock;
  std::vector<std::vector<double>> forward, backward;
  double all = 0;
};

} // namespace

double tts::plan::simulateScale(const ScaleWork &work,
                                const ScaleLayout &layout,
                                const Hardware &hardware) {
  ScaleParts p(work, layout, hardware);
  if (layout.stages > 1)
    return Pipeline(p, layout, work.overlaps).run();
  Sharding sharding = layout.data > 1 ? layout.sharding : Sharding::None;
  return DataParallel(p, sharding, work.overlaps).run();
}
