//===- Search.cpp - annealing over what is carried between steps ---------===//

#include "Search.h"

#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>

using namespace tts::plan;

/// What being over the limit by all of it costs, in seconds of all forward:
/// over a ladder, and at a limit that was asked for.
static constexpr double kWeight = 6, kAskedWeight = 20;
static constexpr double kCold = 0.0002;

bool RematFront::offer(const RematPlan &plan, const RematHolds &holds) {
  if (!std::isfinite(plan.seconds))
    return false;
  const int64_t peak = plan.peakBytes();
  auto at = llvm::partition_point(
      front, [&](const RematPoint &p) { return p.plan.peakBytes() > peak; });
  // Those from `at` on have no larger peak.
  if (at != front.end() && at->plan.seconds <= plan.seconds)
    return false;
  auto first = at;
  if (at != front.end() && at->plan.peakBytes() == peak)
    ++at;
  while (first != front.begin() &&
         std::prev(first)->plan.seconds >= plan.seconds)
    --first;
  first = front.erase(first, at);
  front.insert(first, RematPoint{plan, holds});
  return true;
}

const RematPoint *RematFront::find(int64_t peak) const {
  auto at = llvm::partition_point(
      front, [&](const RematPoint &p) { return p.plan.peakBytes() > peak; });
  return at == front.end() ? nullptr : &*at;
}

RematSearch::RematSearch(const RematProblem &problem, RematRunner &runner,
                         RematFront &front)
    : problem(problem), runner(runner), front(front), users(problem.ops.size()),
      weight(kWeight) {
  for (unsigned i = 0; i < problem.ops.size(); ++i)
    if (!problem.ops[i].isFree && problem.ops[i].canKeep)
      for (unsigned operand : problem.ops[i].operands)
        users[operand].push_back(i);
  for (const RematOp &op : problem.ops)
    allSeconds += op.seconds;
}

uint64_t RematSearch::random(uint64_t below) {
  // xorshift64*
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return ((state * 0x2545f4914f6cdd1d) >> 33) % below;
}

void RematSearch::load(const RematHolds &from) {
  holds = from;
  carry.assign(problem.ops.size(), std::vector<char>(problem.steps.size() + 1));
  for (unsigned i = 0; i < problem.ops.size(); ++i)
    for (const RematHold &hold : holds[i])
      for (int j = hold.first + 1;
           j <= std::min<int>(hold.last, problem.steps.size()); ++j)
        carry[i][j] = hold.early && j == hold.first + 1 ? 2 : 1;
}

void RematSearch::updateHolds(unsigned op) {
  holds[op].clear();
  const std::vector<char> &row = carry[op];
  for (unsigned j = 0; j < row.size(); ++j) {
    if (!row[j])
      continue;
    unsigned begin = j;
    while (j + 1 < row.size() && row[j + 1] == 1)
      ++j;
    holds[op].push_back({int(begin) - 1, int(j), row[begin] == 2});
  }
}

bool RematSearch::move() {
  numFlipped = 0;
  if (reads.empty())
    return false;
  if (slides && random(3) == 0) {
    slide();
    return numFlipped > 0;
  }
  flip();
  if (random(2) == 0)
    flip();
  return numFlipped > 0;
}

void RematSearch::remember(unsigned op) {
  if (flipped.size() == numFlipped)
    flipped.emplace_back();
  flipped[numFlipped++] = {op, carry[op], holds[op]};
}

/// Keeps or drops one value between two of its readers.
void RematSearch::flip() {
  const RematRunner::Read &read = reads[random(reads.size())];
  const unsigned op = read.op;
  std::vector<char> &row = carry[op];
  const auto begin = row.begin() + (read.previous + 1),
             end = row.begin() + (read.step + 1);
  if (begin == end)
    return;
  remember(op);
  bool carried = std::all_of(begin, end, [](char c) { return c; });
  if (!carried && end - begin > 1 && random(4) == 0) {
    const auto early = begin + 1 + random(end - begin - 1);
    std::fill(begin, early, 0);
    *early = 2;
    std::fill(early + 1, end, 1);
  } else {
    std::fill(begin, end, !carried);
  }
  updateHolds(op);
}

/// In place of one value between two of its readers, carries what the second
/// one makes of it, or what it is made of.
void RematSearch::slide() {
  const RematRunner::Read read = reads[random(reads.size())];
  const int first = read.previous + 1, last = read.step;
  std::vector<char> &row = carry[read.op];
  if (first > last || !row[last])
    return;
  llvm::SmallVector<unsigned, 4> instead;
  if (random(2) == 0) {
    for (unsigned user : users[read.op])
      if (!carry[user][last])
        instead.push_back(user);
    if (instead.empty())
      return;
    instead = {instead[random(instead.size())]};
  } else {
    for (unsigned operand : problem.ops[read.op].operands)
      if (!problem.ops[operand].isFree && problem.ops[operand].canKeep &&
          !llvm::is_contained(instead, operand))
        instead.push_back(operand);
  }
  remember(read.op);
  std::fill(row.begin() + first, row.begin() + last + 1, 0);
  updateHolds(read.op);
  for (unsigned op : instead) {
    remember(op);
    std::vector<char> &other = carry[op];
    // A user is made where the value was last there.
    const bool isEarly = first > 0 && op > read.op && !other[first];
    std::fill(other.begin() + first, other.begin() + last + 1, 1);
    if (isEarly)
      other[first] = 2;
    updateHolds(op);
  }
}

void RematSearch::undo() {
  while (numFlipped > 0) {
    Flipped &last = flipped[--numFlipped];
    carry[last.op] = std::move(last.carry);
    holds[last.op] = std::move(last.holds);
  }
}

double RematSearch::energy(const RematPlan &plan, int64_t limit) const {
  double over = double(std::max<int64_t>(0, plan.peakBytes() - limit));
  return plan.seconds / allSeconds + weight * over / double(limit);
}

void RematSearch::anneal(int64_t limit, unsigned moves, double hot) {
  RematPlan plan = runner.run(holds, reads);
  double now = energy(plan, limit);
  std::vector<RematRunner::Read> before;
  for (unsigned i = 0; i < moves; ++i) {
    const double heat = hot * std::pow(kCold / hot, double(i) / moves);
    if (!move())
      continue;
    before.clear();
    before.swap(reads);
    plan = runner.run(holds, reads);
    const double next = energy(plan, limit);
    front.offer(plan, holds);
    if (next <= now ||
        double(random(1 << 20)) < (1 << 20) * std::exp((now - next) / heat)) {
      now = next;
      continue;
    }
    undo();
    reads.swap(before);
  }
}

void RematSearch::improveAt(int64_t limit, unsigned tries, unsigned moves) {
  if (front.points().empty() || allSeconds <= 0)
    return;
  weight = kAskedWeight;
  slides = true;
  for (unsigned i = 0; i < tries; ++i) {
    const RematPoint *start = front.find(limit);
    load(start ? start->holds : front.points().back().holds);
    anneal(limit, moves, i % 2 ? 0.05 : 0.02);
  }
  weight = kWeight;
  slides = false;
}

void RematSearch::improve(unsigned targets, unsigned moves) {
  if (front.points().empty() || allSeconds <= 0)
    return;
  const int64_t top = front.points().front().plan.peakBytes();
  int64_t limit = top;
  for (unsigned i = 0; i < targets; ++i) {
    const RematPoint *start = front.find(limit - 1);
    const int64_t stride =
        (limit - front.points().back().plan.peakBytes()) / (targets - i);
    limit -= std::max<int64_t>(1, stride);
    load(start ? start->holds : front.points().back().holds);
    anneal(limit, moves, 0.05);
    const RematPoint *found = front.find(limit);
    for (int retry = 0; retry < 3 && !found; ++retry) {
      weight *= 4;
      load(front.points().back().holds);
      anneal(limit, moves, 0.05);
      found = front.find(limit);
    }
    if (!found)
      return;
    weight = kWeight;
    limit = std::min(limit, found->plan.peakBytes());
  }
}
