//===- FusionGroups.cpp - which ops become one kernel ---------------------===//

#include "tts/Analysis/FusionGroups.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tts;

namespace {
bool isPointwise(Operation *op) {
  return op->getNumResults() == 1 && op->hasTrait<Pointwise>();
}

ArrayRef<int64_t> getShape(Operation *op) {
  return cast<RankedTensorType>(op->getResult(0).getType()).getShape();
}

class GroupBuilder {
public:
  GroupBuilder(Block &block, bool fuse) : block(block), fuse(fuse) {}

  SmallVector<FusionGroup> run() {
    for (Operation &op : llvm::reverse(block)) {
      if (!isa_and_nonnull<TtsDialect>(op.getDialect()) ||
          taken.contains(&op) || op.hasTrait<Alias>())
        continue;
      if (op.hasTrait<Indexing>() && !needsStorage(&op))
        continue;
      grow(&op);
    }
    std::reverse(groups.begin(), groups.end());
    return std::move(groups);
  }

private:
  /// An indexing op whose readers are all pointwise never exists in memory.
  static bool needsStorage(Operation *op) {
    return llvm::any_of(op->getUsers(),
                        [](Operation *user) { return !isPointwise(user); });
  }

  void grow(Operation *root) {
    FusionGroup group;
    llvm::SmallPtrSet<Operation *, 16> members{root};
    SmallVector<Operation *> worklist{root};
    while (!worklist.empty()) {
      Operation *op = worklist.pop_back_val();
      group.ops.push_back(op);
      if (!isPointwise(op))
        continue;
      for (Value operand : op->getOperands()) {
        Operation *producer = operand.getDefiningOp();
        if (!producer || members.contains(producer) ||
            members.size() >= kMostGroupOps || !joins(producer, root, members))
          continue;
        members.insert(producer);
        worklist.push_back(producer);
      }
    }
    llvm::sort(group.ops, [](Operation *a, Operation *b) {
      return a->isBeforeInBlock(b);
    });
    for (Operation *op : group.ops)
      taken.insert(op);
    groups.push_back(std::move(group));
  }

  bool joins(Operation *producer, Operation *root,
             const llvm::SmallPtrSetImpl<Operation *> &members) const {
    if (producer->getBlock() != &block)
      return false;
    if (producer->hasTrait<Indexing>())
      return true;
    if (!fuse)
      return false;
    // In-place ops keep their own entry: the scheduler orders other readers of
    // the overwritten value around it.
    return isPointwise(producer) && !taken.contains(producer) &&
           !isa<InPlaceOpInterface>(producer) &&
           getShape(producer) == getShape(root) &&
           llvm::all_of(producer->getUsers(), [&](Operation *user) {
             return members.contains(user);
           });
  }

  Block &block;
  bool fuse;
  llvm::SmallPtrSet<Operation *, 32> taken;
  SmallVector<FusionGroup> groups;
};
} // namespace

SmallVector<FusionGroup> tts::computeFusionGroups(Block &block, bool fuse) {
  return GroupBuilder(block, fuse).run();
}
