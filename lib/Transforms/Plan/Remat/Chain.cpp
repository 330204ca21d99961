//===- Chain.cpp - tables over (block, block, memory) --------------------===//

#include "Chain.h"

#include <algorithm>
#include <limits>

using namespace tts::plan;

static constexpr double kNever = std::numeric_limits<double>::infinity();

RematChain::RematChain(const RematProblem &problem, const RematBlocks &blocks,
                       int64_t peakBytes, unsigned slots)
    : problem(problem), blocks(blocks), numBlocks(blocks.size()), slots(slots),
      slotBytes(std::max<int64_t>(1, (peakBytes + slots - 1) / slots)),
      againRows(size_t(numBlocks + 1) * (numBlocks + 1)),
      crossing(size_t(numBlocks + 1) * (numBlocks + 1)),
      outSeconds(numBlocks + 1), waySlots(numBlocks) {
  for (unsigned b = 0; b < numBlocks; ++b) {
    outSeconds[b + 1] = outSeconds[b] + blocks[b].outSeconds;
    for (const RematWay &way : blocks[b].ways)
      waySlots[b].push_back({inSlots(way.bytes),
                             inSlots(way.bytes + blocks[b].throughBytes),
                             inSlots(way.transient)});
    for (unsigned to = b + 1; to < numBlocks; ++to)
      crossing[size_t(b) * (numBlocks + 1) + to] =
          inSlots(blocks.newCrossingBytes(b, to));
  }
  fillAgain();
  fillFirst();
}

/// To the nearest: errors of a sum cancel, and every plan is measured anyway.
unsigned RematChain::inSlots(int64_t bytes) const {
  return (bytes + slotBytes / 2) / slotBytes;
}

double RematChain::wayAgain(unsigned from, unsigned to, unsigned index,
                            int slot) const {
  const RematWay &way = blocks[from].ways[index];
  const WaySlots &need = waySlots[from][index];
  if (int(need.transient) > slot)
    return kNever;
  if (to == from + 1)
    return way.makeSeconds + way.seconds;
  int rest = slot - int(need.kept);
  if (!way.holdsOut || rest < 0)
    return kNever;
  return way.makeSecondsOut + way.seconds + again(from + 1, to)[rest];
}

double RematChain::cutAgain(unsigned from, unsigned to, unsigned cut,
                            int slot) const {
  int rest = slot - int(crossSlots(from, cut));
  if (rest < 0)
    return kNever;
  return (outSeconds[cut] - outSeconds[from]) + again(cut, to)[rest] +
         again(from, cut)[slot];
}

/// row[i + shift] = min(row[i + shift], cost + a[i] + b[i + shift]); b may be
/// null.
static void relax(double *row, const double *a, const double *b, double cost,
                  unsigned shift, unsigned last) {
  if (!b) {
    for (unsigned i = 0; i + shift <= last; ++i)
      row[i + shift] = std::min(row[i + shift], cost + a[i]);
    return;
  }
  for (unsigned i = 0; i + shift <= last; ++i)
    row[i + shift] = std::min(row[i + shift], cost + a[i] + b[i + shift]);
}

void RematChain::fillAgain() {
  for (unsigned length = 1; length <= numBlocks; ++length)
    for (unsigned from = 0, to = length; to <= numBlocks; ++from, ++to) {
      Row &row = again(from, to);
      row.assign(slots + 1, kNever);
      for (unsigned way = 0; way < blocks[from].ways.size(); ++way)
        for (unsigned slot = waySlots[from][way].transient; slot <= slots;
             ++slot)
          row[slot] = std::min(row[slot], wayAgain(from, to, way, slot));
      for (unsigned cut = from + 1; cut < to; ++cut)
        relax(row.data(), again(cut, to).data(), again(from, cut).data(),
              outSeconds[cut] - outSeconds[from], crossSlots(from, cut), slots);
    }
}

double RematChain::wayFirst(bool held, unsigned from, unsigned index,
                            int slot) const {
  const RematWay &way = blocks[from].ways[index];
  const WaySlots &need = waySlots[from][index];
  if (int(need.transient) > slot || (way.needsIn && !held))
    return kNever;
  if (from + 1 == numBlocks)
    return way.seconds;
  // Values of earlier blocks are held for later ones from here on.
  int rest =
      slot - int(way.holdsOut && !held ? need.keptAndThrough : need.kept);
  return rest < 0 ? kNever
                  : way.seconds + firstRows[way.holdsOut][from + 1][rest];
}

double RematChain::cutFirst(unsigned from, unsigned cut, int slot) const {
  int rest = slot - int(crossSlots(from, cut));
  return rest < 0 ? kNever : firstRows[1][cut][rest] + again(from, cut)[slot];
}

void RematChain::fillFirst() {
  for (auto &rows : firstRows)
    rows.resize(numBlocks);
  for (unsigned from = numBlocks; from-- > 0;)
    for (bool held : {false, true}) {
      Row &row = firstRows[held][from];
      row.assign(slots + 1, kNever);
      for (unsigned way = 0; way < blocks[from].ways.size(); ++way)
        for (unsigned slot = 0; slot <= slots; ++slot)
          row[slot] = std::min(row[slot], wayFirst(held, from, way, slot));
      if (!held)
        continue;
      for (unsigned cut = from + 1; cut < numBlocks; ++cut)
        for (unsigned slot = crossSlots(from, cut); slot <= slots; ++slot)
          row[slot] = std::min(row[slot], cutFirst(from, cut, slot));
    }
}

/// Adds an interval; those that overlap become one.
void RematChain::hold(RematHolds &holds, unsigned value, int first,
                      int last) const {
  if (first > last)
    return;
  llvm::SmallVector<RematHold, 1> merged;
  bool placed = false;
  for (const RematHold &old : holds[value]) {
    if (old.last < first) {
      merged.push_back(old);
    } else if (last < old.first) {
      if (!placed)
        merged.push_back({first, last});
      placed = true;
      merged.push_back(old);
    } else {
      first = std::min(first, old.first);
      last = std::max(last, old.last);
    }
  }
  if (!placed)
    merged.push_back({first, last});
  holds[value] = std::move(merged);
}

void RematChain::takeWay(RematHolds &holds, unsigned index, unsigned way,
                         int start) const {
  const RematBlock &block = blocks[index];
  const int end = int(block.lastStep) - 1;
  // What is made again in the block's own backward stays until its end.
  for (unsigned i = block.firstOp; i < block.lastOp; ++i)
    hold(holds, i, int(block.firstStep), end);
  for (unsigned value : block.ways[way].kept)
    hold(holds, value, start, end);
}

void RematChain::takeAgain(RematHolds &holds, unsigned from, unsigned to,
                           int slot) const {
  const int start = blocks[to - 1].firstStep;
  while (from < to) {
    const double best = again(from, to)[slot];
    unsigned way = 0, cut = to;
    while (way < blocks[from].ways.size() &&
           wayAgain(from, to, way, slot) != best)
      ++way;
    if (way < blocks[from].ways.size()) {
      takeWay(holds, from, way, start);
      slot -= waySlots[from++][way].kept;
      continue;
    }
    for (cut = from + 1; cutAgain(from, to, cut, slot) != best;)
      ++cut;
    for (unsigned value : blocks.crossing(cut))
      if (value >= blocks[from].firstOp)
        hold(holds, value, start, int(blocks[cut].lastStep) - 1);
    takeAgain(holds, from, cut, slot);
    slot -= crossSlots(from, cut);
    from = cut;
  }
}

void RematChain::takeFirst(RematHolds &holds, int slot) const {
  bool held = true;
  for (unsigned from = 0; from < numBlocks;) {
    const double best = firstRows[held][from][slot];
    unsigned way = 0, cut = from + 1;
    while (way < blocks[from].ways.size() &&
           wayFirst(held, from, way, slot) != best)
      ++way;
    if (way < blocks[from].ways.size()) {
      takeWay(holds, from, way, -1);
      bool holdsOut = blocks[from].ways[way].holdsOut;
      if (holdsOut)
        for (unsigned value : blocks.crossing(from + 1))
          hold(holds, value, -1, int(blocks[from].firstStep) - 1);
      slot -= holdsOut && !held ? waySlots[from][way].keptAndThrough
                                : waySlots[from][way].kept;
      held = holdsOut;
      ++from;
      continue;
    }
    while (cutFirst(from, cut, slot) != best)
      ++cut;
    for (unsigned value : blocks.crossing(cut))
      hold(holds, value, -1, int(blocks[cut].lastStep) - 1);
    takeAgain(holds, from, cut, slot);
    slot -= crossSlots(from, cut);
    from = cut;
  }
}

RematHolds RematChain::holdsFor(unsigned slot) const {
  RematHolds holds;
  if (numBlocks == 0 || firstRows[1][0][slot] == kNever)
    return holds;
  holds.resize(problem.ops.size());
  takeFirst(holds, slot);
  for (unsigned i = 0; i < problem.ops.size(); ++i)
    if (!problem.ops[i].canRecompute)
      holds[i] = {{-1, int(problem.steps.size())}};
  return holds;
}
