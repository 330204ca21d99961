//===- Pipeline.cpp - cutting a chain of layers into stages ---------------===//

#include "tts/Transforms/Plan/Pipeline.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

using namespace tts::plan;

namespace {

class Cutter {
public:
  Cutter(llvm::ArrayRef<ChainOp> ops, int64_t stages, Balance balance)
      : ops(ops), stages(stages), balance(balance) {}

  llvm::SmallVector<size_t> run() {
    if (int64_t(ops.size()) < stages)
      return {};
    llvm::SmallVector<size_t> cuts = cutLeast();
    for (size_t i = 0; i < cuts.size(); ++i)
      cuts[i] = moveToNarrow(cuts, i);
    return cuts;
  }

private:
  double costOf(const ChainOp &op, int64_t stage) const {
    if (balance == Balance::Seconds)
      return op.seconds;
    return double(op.stateBytes) +
           double(op.keptBytes) * double(slotsOfStage(stage, stages));
  }

  /// The first i places in s + 1 stages, none empty: the least largest stage,
  /// by stage and place. Of a long chain a place is several ops.
  llvm::SmallVector<size_t> cutLeast() const {
    constexpr size_t kMostPlaces = 4096;
    const size_t step = (ops.size() + kMostPlaces - 1) / kMostPlaces;
    const size_t count = std::max(ops.size() / step, size_t(stages));
    auto opOf = [&](size_t place) {
      return place == count ? ops.size() : std::min(place * step, ops.size());
    };
    constexpr double never = std::numeric_limits<double>::infinity();
    std::vector<double> before(count + 1, never), now;
    before[0] = 0;
    std::vector<std::vector<size_t>> begins;
    for (int64_t stage = 0; stage < stages; ++stage) {
      std::vector<double> costs(count + 1);
      for (size_t place = 0; place < count; ++place) {
        costs[place + 1] = costs[place];
        for (size_t op = opOf(place); op < opOf(place + 1); ++op)
          costs[place + 1] += costOf(ops[op], stage);
      }
      now.assign(count + 1, never);
      begins.emplace_back(count + 1, 0);
      for (size_t end = size_t(stage) + 1; end <= count; ++end)
        for (size_t begin = end; begin-- > size_t(stage);) {
          double own = costs[end] - costs[begin];
          if (own > now[end])
            break; // it only grows
          if (std::max(own, before[begin]) < now[end]) {
            now[end] = std::max(own, before[begin]);
            begins.back()[end] = begin;
          }
        }
      before.swap(now);
    }
    llvm::SmallVector<size_t> cuts;
    size_t end = count;
    for (int64_t stage = stages - 1; stage > 0; --stage) {
      end = begins[size_t(stage)][end];
      cuts.push_back(opOf(end));
    }
    std::reverse(cuts.begin(), cuts.end());
    return cuts;
  }

  size_t moveToNarrow(llvm::ArrayRef<size_t> cuts, size_t which) const {
    constexpr double kNear = 0.02;
    double whole = 0;
    for (const ChainOp &op : ops)
      whole += costOf(op, int64_t(which));
    size_t least = which == 0 ? 1 : cuts[which - 1] + 1;
    size_t most =
        which + 1 < cuts.size() ? cuts[which + 1] - 1 : ops.size() - 1;
    size_t best = cuts[which];
    auto consider = [&](size_t place) {
      if (ops[place].crossingBytes < ops[best].crossingBytes)
        best = place;
    };
    double moved = 0;
    for (size_t place = cuts[which]; place > least && moved <= kNear * whole;) {
      moved += costOf(ops[--place], int64_t(which));
      consider(place);
    }
    moved = 0;
    for (size_t place = cuts[which]; place < most && moved <= kNear * whole;) {
      moved += costOf(ops[place++], int64_t(which));
      consider(place);
    }
    return best;
  }

  llvm::ArrayRef<ChainOp> ops;
  int64_t stages;
  Balance balance;
};

/// One stage on its way through its list of forwards and backwards.
struct Progress {
  int64_t forwards = 0, backwards = 0;
  double time = 0;
};

} // namespace

llvm::SmallVector<size_t> tts::plan::cutChain(llvm::ArrayRef<ChainOp> ops,
                                              int64_t stages, Balance balance) {
  return Cutter(ops, stages, balance).run();
}

double tts::plan::pipelineSeconds(llvm::ArrayRef<StageTimes> stages,
                                  int64_t microBatches) {
  const int64_t count = int64_t(stages.size());
  constexpr double never = std::numeric_limits<double>::infinity();
  using Times = std::vector<std::vector<double>>;
  Times there(count, std::vector<double>(microBatches, never)), back = there;
  std::vector<Progress> progress(count);
  // When what a stage waits for has come; it may be this stage's turn later.
  auto advance = [&](int64_t s) {
    Progress &p = progress[s];
    const StageTimes &t = stages[s];
    int64_t ahead = std::min(count - 1 - s, microBatches);
    // Ahead by so many, then one forward before each backward.
    bool goesForward =
        p.forwards < microBatches && p.forwards - p.backwards <= ahead;
    if (goesForward) {
      double ready =
          s == 0 ? 0 : there[s - 1][p.forwards] + stages[s - 1].sendForward;
      if (ready == never)
        return false;
      p.time = std::max(p.time, ready) + t.forward;
      there[s][p.forwards++] = p.time;
      return true;
    }
    if (p.backwards == microBatches)
      return false;
    double ready = s + 1 == count
                       ? there[s][p.backwards]
                       : back[s + 1][p.backwards] + stages[s + 1].sendBackward;
    if (ready == never)
      return false;
    p.time = std::max(p.time, ready) + t.backward;
    back[s][p.backwards++] = p.time;
    return true;
  };
  for (bool moves = true; moves;) {
    moves = false;
    for (int64_t s = 0; s < count; ++s)
      while (advance(s))
        moves = true;
  }
  double end = 0;
  for (const Progress &p : progress)
    end = std::max(end, p.time);
  return end;
}
