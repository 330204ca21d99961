//===- GroupGraph.cpp - ops of a block that run as one --------------------===//

#include "GroupGraph.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"

using namespace mlir;
using namespace tts;

GroupGraph::GroupGraph(Block &block) {
  for (Operation &op : block)
    positions.try_emplace(&op, positions.size());
}

void GroupGraph::unite(ArrayRef<Operation *> ops) {
  Union &made = unions.emplace_back();
  for (Operation *op : ops)
    if (!op->hasTrait<Indexing>())
      made.push_back(op);
  if (made.size() < 2)
    return;
  auto [low, high] = std::minmax_element(
      made.begin(), made.end(), [&](Operation *a, Operation *b) {
        return positions.lookup(a) < positions.lookup(b);
      });
  addSpan(positions.lookup(*low), positions.lookup(*high));
  for (Operation *op : made)
    unionOf[op] = &made;
}

void GroupGraph::extend(Operation *op, ArrayRef<Operation *> ops) {
  Union *&all = unionOf[op];
  if (!all)
    all = &unions.emplace_back(Union{op});
  Union *made = all;
  unsigned low = positions.lookup(op), high = low;
  for (Operation *joining : ops) {
    if (joining->hasTrait<Indexing>())
      continue;
    made->push_back(joining);
    unionOf[joining] = made;
    low = std::min(low, positions.lookup(joining));
    high = std::max(high, positions.lookup(joining));
  }
  addSpan(low, high);
}

void GroupGraph::addSpan(unsigned low, unsigned high) {
  auto next = spans.upper_bound(high);
  while (next != spans.begin()) {
    auto overlapping = std::prev(next);
    if (overlapping->second < low)
      break;
    low = std::min(low, overlapping->first);
    high = std::max(high, overlapping->second);
    next = spans.erase(overlapping);
  }
  spans.emplace(low, high);
}

ArrayRef<Operation *> GroupGraph::withAll(Operation *const &op) const {
  const Union *all = unionOf.lookup(op);
  return all ? ArrayRef<Operation *>(*all) : ArrayRef<Operation *>(op);
}

unsigned GroupGraph::boundOf(unsigned position) const {
  auto next = spans.upper_bound(position);
  return next == spans.begin() ? position
                               : std::max(position, std::prev(next)->second);
}

void GroupGraph::addReaders(Operation *op, const Ops &from, const Ops &to,
                            Search &found) const {
  for (Operation *user : op->getUsers()) {
    if (from.contains(user) || to.contains(user))
      continue;
    if (user->hasTrait<Indexing>())
      addReaders(user, from, to, found);
    else
      found.push_back(user);
  }
}

bool GroupGraph::leads(const Ops &from, const Ops &to, Operation *last) const {
  Search search;
  for (Operation *op : from)
    if (!op->hasTrait<Indexing>())
      addReaders(op, from, to, search);
  if (search.empty())
    return false;
  const unsigned bound = boundOf(positions.lookup(last));
  llvm::SmallPtrSet<Operation *, 32> seen;
  while (!search.empty()) {
    Operation *next = search.pop_back_val();
    for (Operation *op : withAll(next)) {
      if (positions.lookup(op) > bound || !seen.insert(op).second)
        continue;
      for (Operation *user : op->getUsers()) {
        if (to.contains(user) && !user->hasTrait<Indexing>())
          return true;
        search.push_back(user);
      }
    }
  }
  return false;
}
