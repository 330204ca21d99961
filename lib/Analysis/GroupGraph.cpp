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
  spans.emplace(positions.lookup(*low), positions.lookup(*high));
  for (Operation *op : made)
    unionOf[op] = &made;
}

ArrayRef<Operation *> GroupGraph::withAll(Operation *const &op) const {
  const Union *all = unionOf.lookup(op);
  return all ? ArrayRef<Operation *>(*all) : ArrayRef<Operation *>(op);
}

unsigned GroupGraph::boundOf(unsigned position) const {
  for (auto [low, high] : spans) {
    if (low > position)
      break;
    position = std::max(position, high);
  }
  return position;
}

void GroupGraph::addReaders(Operation *op, const Ops &ops,
                            Search &found) const {
  for (Operation *user : op->getUsers()) {
    if (ops.contains(user))
      continue;
    if (user->hasTrait<Indexing>())
      addReaders(user, ops, found);
    else
      found.push_back(user);
  }
}

bool GroupGraph::closesCircle(const Ops &ops) const {
  unsigned highest = 0;
  Search search;
  for (Operation *op : ops) {
    if (op->hasTrait<Indexing>())
      continue;
    highest = std::max(highest, positions.lookup(op));
    addReaders(op, ops, search);
  }
  unsigned bound = boundOf(highest);
  llvm::SmallPtrSet<Operation *, 32> seen;
  while (!search.empty()) {
    Operation *next = search.pop_back_val();
    for (Operation *op : withAll(next)) {
      if (positions.lookup(op) > bound || !seen.insert(op).second)
        continue;
      for (Operation *user : op->getUsers()) {
        if (ops.contains(user) && !user->hasTrait<Indexing>())
          return true;
        search.push_back(user);
      }
    }
  }
  return false;
}
