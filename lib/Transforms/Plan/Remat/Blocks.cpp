//===- Blocks.cpp - narrow cuts and the ways of the blocks between -------===//

#include "Blocks.h"

#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <limits>

using namespace tts::plan;

/// Levels that differ in more values of a block have none between them.
static constexpr unsigned kMostChanges = 10;

RematBlocks::RematBlocks(const RematProblem &problem, RematRunner &runner,
                         llvm::ArrayRef<RematKept> levels, unsigned mostBlocks,
                         unsigned mostWays)
    : problem(problem), runner(runner), holds(problem.ops.size()),
      wantedFlag(problem.ops.size()) {
  findCrossings();
  chooseCuts(mostBlocks);
  makeBlocks();
  for (RematBlock &block : blocks)
    findWays(block, levels, mostWays);
}

void RematBlocks::findCrossings() {
  const unsigned numOps = problem.ops.size(), numSteps = problem.steps.size();
  std::vector<unsigned> firstReader(numOps, numSteps);
  std::vector<unsigned> position(numSteps), madeAt(numOps);
  // A view is where its source was made, wherever it stands itself.
  for (unsigned i = 0; i < numOps; ++i) {
    madeAt[i] = problem.ops[i].isFree ? 0 : i;
    if (problem.ops[i].isFree)
      for (unsigned operand : problem.ops[i].operands)
        madeAt[i] = std::max(madeAt[i], madeAt[operand]);
  }
  for (unsigned j = numSteps; j-- > 0;)
    for (unsigned use : problem.steps[j].uses) {
      firstReader[use] = j;
      position[j] = std::max(position[j], madeAt[use]);
    }
  for (unsigned i = numOps; i-- > 0;)
    if (problem.ops[i].isFree)
      for (unsigned operand : problem.ops[i].operands)
        firstReader[operand] = std::min(firstReader[operand], firstReader[i]);

  // Backward has come down to a cut when no later step reads behind it.
  std::vector<unsigned> highest(numSteps + 1);
  for (unsigned j = numSteps; j-- > 0;)
    highest[j] = std::max(highest[j + 1], position[j]);
  passedAt.assign(numOps + 1, 0);
  for (unsigned cut = 0, j = numSteps; cut <= numOps; ++cut) {
    while (j > 0 && highest[j - 1] < cut)
      --j;
    passedAt[cut] = j;
  }
  passedAt[0] = numSteps;
  passedAt[numOps] = 0;

  crossesUntil.resize(numOps);
  for (unsigned i = 0; i < numOps; ++i) {
    bool isInput = problem.ops[i].isFree;
    crossesUntil[i] =
        isInput
            ? i
            : std::max(runner.lastForwardReader(i),
                       firstReader[i] < numSteps ? highest[firstReader[i]] : 0);
  }
}

/// The narrowest places, as evenly spread as they are.
void RematBlocks::chooseCuts(unsigned mostBlocks) {
  const unsigned numOps = problem.ops.size();
  constexpr int64_t never = std::numeric_limits<int64_t>::max();
  std::vector<int64_t> width(numOps + 1), change(numOps + 2),
      barred(numOps + 2);
  for (unsigned i = 0; i < numOps; ++i) {
    if (problem.ops[i].isFree || crossesUntil[i] <= i)
      continue;
    std::vector<int64_t> &counts = problem.ops[i].canKeep ? change : barred;
    int64_t amount = problem.ops[i].canKeep ? problem.ops[i].bytes : 1;
    counts[i + 1] += amount;
    counts[crossesUntil[i] + 1] -= amount;
  }
  int64_t bytes = 0, bars = 0;
  std::vector<unsigned> places;
  for (unsigned cut = 1; cut < numOps; ++cut) {
    bytes += change[cut];
    bars += barred[cut];
    width[cut] = bars > 0 ? never : bytes;
    // A cut behind a view or an input is the cut before it.
    if (bars == 0 && !problem.ops[cut - 1].isFree)
      places.push_back(cut);
  }
  cuts = {0};
  if (places.size() < mostBlocks) {
    llvm::append_range(cuts, places);
  } else {
    // The best place of each stretch of equally many operations.
    for (unsigned part = 0; part < mostBlocks; ++part) {
      auto begin = llvm::lower_bound(
          places, std::max<uint64_t>(1, uint64_t(part) * numOps / mostBlocks));
      auto end =
          llvm::lower_bound(places, uint64_t(part + 1) * numOps / mostBlocks);
      if (begin == end)
        continue;
      cuts.push_back(*std::min_element(begin, end, [&](unsigned a, unsigned b) {
        return width[a] < width[b];
      }));
    }
  }
  cuts.push_back(numOps);
}

void RematBlocks::makeBlocks() {
  cross.resize(cuts.size());
  for (unsigned c = 0; c + 1 < cuts.size(); ++c)
    blocks.push_back({cuts[c],
                      cuts[c + 1],
                      passedAt[cuts[c + 1]],
                      passedAt[cuts[c]],
                      {},
                      0,
                      0});
  for (unsigned i = 0; i < problem.ops.size(); ++i) {
    if (problem.ops[i].isFree || !problem.ops[i].canKeep)
      continue;
    for (unsigned c = llvm::upper_bound(cuts, i) - cuts.begin();
         c < cuts.size() && cuts[c] <= crossesUntil[i]; ++c)
      cross[c].push_back(i);
  }
  for (unsigned b = 0; b < blocks.size(); ++b) {
    std::vector<unsigned> out;
    for (unsigned value : cross[b + 1])
      if (value >= blocks[b].firstOp)
        out.push_back(value);
      else
        blocks[b].throughBytes += problem.ops[value].bytes;
    blocks[b].outSeconds = makingSeconds(blocks[b], out);
  }
}

int64_t RematBlocks::newCrossingBytes(unsigned from, unsigned to) const {
  int64_t bytes = 0;
  for (unsigned value : cross[to])
    if (value >= cuts[from])
      bytes += problem.ops[value].bytes;
  return bytes;
}

/// Of the block's operations that make `wanted`, each once.
double RematBlocks::makingSeconds(const RematBlock &block,
                                  llvm::ArrayRef<unsigned> wanted) {
  if (wanted.empty())
    return 0;
  for (unsigned value : wanted)
    wantedFlag[value] = 1;
  double seconds = 0;
  for (unsigned i = block.lastOp; i-- > block.firstOp;) {
    if (!wantedFlag[i])
      continue;
    wantedFlag[i] = 0;
    seconds += problem.ops[i].seconds;
    for (unsigned operand : problem.ops[i].operands)
      if (operand >= block.firstOp)
        wantedFlag[operand] = 1;
  }
  return seconds;
}

RematWay RematBlocks::tryWay(const RematBlock &block, const RematKept &level,
                             bool out) {
  RematWay way;
  const unsigned index = &block - blocks.data();
  std::vector<unsigned> outgoing;
  for (unsigned value : cross[index + 1])
    if (value >= block.firstOp)
      outgoing.push_back(value);
  const int last = problem.steps.size();
  for (unsigned i = block.firstOp; i < block.lastOp; ++i)
    holds[i] = {{level[i] ? -1 : 0, last}};
  if (out)
    for (unsigned value : outgoing)
      holds[value] = {{-1, last}};
  for (unsigned i = block.firstOp; i < block.lastOp; ++i)
    if (holds[i].front().first < 0) {
      way.kept.push_back(i);
      way.bytes += problem.ops[i].bytes;
    }
  way.holdsOut = llvm::all_of(
      outgoing, [&](unsigned v) { return holds[v].front().first < 0; });
  RematPlan plan = runner.run(
      holds, {block.firstStep, block.lastStep, block.firstOp, block.lastOp});
  way.transient = plan.backwardPeak;
  way.seconds = plan.seconds;
  way.needsIn =
      llvm::any_of(runner.givenReads(), [&](unsigned v) { return !level[v]; });
  way.makeSeconds = makingSeconds(block, way.kept);
  std::vector<unsigned> both = way.kept;
  llvm::append_range(both, outgoing);
  way.makeSecondsOut = makingSeconds(block, both);
  return way;
}

/// From one level to the next one value at a time, the one that gives most
/// bytes for its seconds first.
void RematBlocks::addBetween(const RematBlock &block, RematKept from,
                             const RematKept &to, std::vector<RematWay> &all) {
  std::vector<unsigned> changes;
  for (unsigned i = block.firstOp; i < block.lastOp; ++i)
    if (from[i] != to[i])
      changes.push_back(i);
  if (changes.size() > kMostChanges)
    return;
  RematWay now = tryWay(block, from, false);
  while (changes.size() > 1) {
    size_t best = 0;
    double bestRatio = -1;
    RematWay bestWay;
    for (size_t i = 0; i < changes.size(); ++i) {
      from[changes[i]] ^= 1;
      RematWay way = tryWay(block, from, false);
      from[changes[i]] ^= 1;
      double bytes = double(now.bytes - way.bytes);
      double ratio =
          bytes <= 0 ? 0 : bytes / std::max(1e-30, way.seconds - now.seconds);
      if (ratio > bestRatio)
        bestRatio = ratio, best = i, bestWay = std::move(way);
    }
    from[changes[best]] ^= 1;
    changes.erase(changes.begin() + best);
    now = bestWay;
    all.push_back(std::move(bestWay));
    all.push_back(tryWay(block, from, true));
  }
}

/// The different ways of the levels and between them, those that another beats
/// left out.
void RematBlocks::findWays(RematBlock &block, llvm::ArrayRef<RematKept> levels,
                           unsigned mostWays) {
  std::vector<RematWay> all;
  std::vector<unsigned> last[2];
  for (size_t l = 1; l < levels.size(); ++l)
    addBetween(block, levels[l - 1], levels[l], all);
  const size_t between = all.size();
  for (const RematKept &level : levels)
    for (bool out : {false, true}) {
      RematWay way = tryWay(block, level, out);
      if (all.size() >= between + 2 && way.kept == last[out] &&
          way.needsIn == all[all.size() - 2].needsIn)
        break;
      last[out] = way.kept;
      all.push_back(std::move(way));
    }
  for (size_t i = 0; i < all.size(); ++i) {
    const RematWay &way = all[i];
    bool beaten = false;
    for (size_t j = 0; j < all.size() && !beaten; ++j) {
      const RematWay &other = all[j];
      bool noWorse =
          other.bytes <= way.bytes && other.transient <= way.transient &&
          other.seconds <= way.seconds &&
          other.makeSecondsOut <= way.makeSecondsOut &&
          other.makeSeconds <= way.makeSeconds &&
          other.needsIn <= way.needsIn && other.holdsOut >= way.holdsOut;
      bool same =
          noWorse && other.bytes == way.bytes &&
          other.transient == way.transient && other.seconds == way.seconds &&
          other.needsIn == way.needsIn && other.holdsOut == way.holdsOut;
      beaten = j != i && noWorse && (!same || j < i);
    }
    if (!beaten)
      block.ways.push_back(way);
  }
  // Evenly thinned: the largest and the smallest stay.
  std::stable_sort(
      block.ways.begin(), block.ways.end(),
      [](const RematWay &a, const RematWay &b) { return a.bytes > b.bytes; });
  while (block.ways.size() > mostWays) {
    std::vector<RematWay> thinned;
    for (unsigned i = 0; i < mostWays; ++i)
      thinned.push_back(
          block.ways[size_t(i) * (block.ways.size() - 1) / (mostWays - 1)]);
    block.ways = std::move(thinned);
  }
}
