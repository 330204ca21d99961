//===- FusionGroups.cpp - which ops become one kernel ---------------------===//

#include "tts/Analysis/FusionGroups.h"
#include "GroupGraph.h"
#include "ManyTensors.h"
#include "tts/Analysis/Epilogues.h"
#include "tts/Dialect/Tts/IR/Fusion.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tts;

namespace {
/// Single numbers cost neither registers nor compile time.
constexpr size_t kMostScalarOps = 500;

ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

/// A group that grows from its last op towards what that reads.
struct Growing {
  Operation *root;
  Operation *last;         ///< in the block: the root but for readers
  RowOpInterface row;      ///< the one op that is not pointwise, if any
  ArrayRef<int64_t> shape; ///< of what its pointwise ops make
  llvm::SmallPtrSet<Operation *, 16> members;

  explicit Growing(Operation *root)
      : root(root), last(root), row(dyn_cast<RowOpInterface>(root)),
        shape(shapeOf(row ? root->getOperand(0) : root->getResult(0))),
        members({root}) {}

  bool hasRoom() const {
    return members.size() < (shape.empty() ? kMostScalarOps : kMostGroupOps);
  }
};

class GroupBuilder {
public:
  GroupBuilder(Block &block, bool fuse)
      : block(block), fuse(fuse), graph(block) {}

  SmallVector<FusionGroup> run() {
    findDead();
    for (Operation &op : llvm::reverse(block)) {
      if (!isa_and_nonnull<TtsDialect>(op.getDialect()) ||
          taken.contains(&op) || op.hasTrait<Alias>() || dead.contains(&op))
        continue;
      if (op.hasTrait<Indexing>() && !needsStorage(&op))
        continue;
      grow(&op);
    }
    std::reverse(groups.begin(), groups.end());
    if (fuse)
      joinManyTensors(groups, graph);
    return std::move(groups);
  }

private:
  using Members = llvm::SmallPtrSet<Operation *, 16>;

  /// Ops that nobody reads are no readers; those of other dialects and views
  /// stay, whoever reads them.
  void findDead() {
    for (Operation &op : llvm::reverse(block))
      if (isa_and_nonnull<TtsDialect>(op.getDialect()) &&
          !op.hasTrait<Alias>() &&
          llvm::all_of(op.getUsers(),
                       [&](Operation *user) { return dead.contains(user); }))
        dead.insert(&op);
  }

  /// An indexing op whose readers are all pointwise never exists in memory.
  static bool needsStorage(Operation *op) {
    return llvm::any_of(op->getUsers(),
                        [](Operation *user) { return !isElementwise(user); });
  }

  void grow(Operation *root) {
    Growing group(root);
    SmallVector<Operation *> worklist{root}, ops;
    auto add = [&](Operation *joining) {
      group.members.insert(joining);
      if (group.last->isBeforeInBlock(joining))
        group.last = joining;
      worklist.push_back(joining);
    };
    while (!worklist.empty()) {
      Operation *op = worklist.pop_back_val();
      ops.push_back(op);
      for (Value operand : getInnerOperands(op)) {
        Operation *producer = operand.getDefiningOp();
        if (!producer || group.members.contains(producer) ||
            !joins(operand, op, group))
          continue;
        add(producer);
        if (auto row = dyn_cast<RowOpInterface>(producer))
          group.row = row;
      }
      // What an update writes is read by its other readers while it is at hand.
      if (isUpdateOfStates(op))
        for (Operation *reader : op->getUsers())
          if (!group.members.contains(reader) &&
              isa<PerTensorOpInterface>(reader) && canJoin(reader, group) &&
              !graph.leads(group.members, Members({reader}), reader))
            add(reader);
    }
    llvm::sort(
        ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    taken.insert(ops.begin(), ops.end());
    graph.unite(ops);
    FusionGroup &made = groups.emplace_back();
    made.ops = std::move(ops);
    collectResults(made, group.members);
  }

  /// The operands that the kernel of `op` can compute.
  SmallVector<Value> getInnerOperands(Operation *op) const {
    SmallVector<Value> operands;
    if (isElementwise(op))
      llvm::append_range(operands, op->getOperands());
    else if (auto row = dyn_cast<RowOpInterface>(op); row && fuse)
      for (unsigned number : row.getRowOperands())
        operands.push_back(op->getOperand(number));
    return operands;
  }

  void collectResults(FusionGroup &group, const Members &members) {
    for (Operation *op : group.ops)
      for (Value result : op->getResults())
        if (op == group.root() ||
            (!op->hasTrait<Indexing>() && isReadOutside(result, members)))
          group.results.push_back(result);
  }

  bool isReadOutside(Value value, const Members &members) const {
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      return !members.contains(user) && !dead.contains(user);
    });
  }

  /// Whether there is room for an op that is computed at the group's elements.
  bool canJoin(Operation *op, const Growing &group) const {
    return fuse && !taken.contains(op) && !dead.contains(op) &&
           group.hasRoom() && shapeOf(op->getResult(0)) == group.shape;
  }

  /// Whether the op behind `value`, which the member `reader` reads, joins.
  bool joins(Value value, Operation *reader, const Growing &group) const {
    Operation *producer = value.getDefiningOp();
    if (producer->getBlock() != &block)
      return false;
    // However full the group: nobody else makes it.
    if (producer->hasTrait<Indexing>())
      return isElementwise(reader);
    if (!canJoin(producer, group))
      return false;
    if (auto row = dyn_cast<RowOpInterface>(producer))
      return joinsAsRow(value, row, group);
    if (!isElementwise(producer) || isReadWhole(producer, group))
      return false;
    // Sums behind a product may need no kernel at all.
    if (reader == group.row && matchEpilogue(producer))
      return false;
    bool readOutside = llvm::any_of(producer->getResults(), [&](Value result) {
      return isReadOutside(result, group.members);
    });
    // Beside a row's results, a group has others than its last op's: there may
    // be a way back from them.
    if (!isa<InPlaceOpInterface>(producer))
      return !readOutside && (!group.row || canRunWith(producer, group));
    // An update's results are stored anyway. Other in-place ops keep their own
    // entry: the scheduler orders readers of the overwritten value around it.
    return isUpdateOfStates(producer) && readOutside && !group.row &&
           canRunWith(producer, group);
  }

  /// Whether an op updates what the program is given by what it is given. Where
  /// it reads a gradient that dies, it may run long before its readers may.
  static bool isUpdateOfStates(Operation *op) {
    if (!isa<InPlaceOpInterface>(op) || !isa<PerTensorOpInterface>(op))
      return false;
    ArrayRef<int64_t> shape = shapeOf(op->getResult(0));
    return llvm::all_of(op->getOperands(), [&](Value operand) {
      return isa<BlockArgument>(operand) || shapeOf(operand) != shape ||
             isUpdateOfStates(operand.getDefiningOp());
    });
  }

  /// Whether the row op behind `value` goes on with pointwise ops: nobody else
  /// reads its row, and none of these reads its statistics.
  bool joinsAsRow(Value value, RowOpInterface row, const Growing &group) const {
    // A row's first pass may write where a result will be.
    if (group.row || !row.isRowwise() || value != row->getResult(0) ||
        llvm::any_of(group.members, llvm::IsaPred<InPlaceOpInterface>))
      return false;
    auto isInner = [&](Operation *user) {
      return isElementwise(user) && group.members.contains(user);
    };
    auto isOuter = [](Operation *user) {
      return !isElementwise(user) && !user->hasTrait<Indexing>();
    };
    return llvm::all_of(value.getUsers(), isInner) &&
           llvm::all_of(row->getResults().drop_front(),
                        [&](Value statistic) {
                          return llvm::all_of(statistic.getUsers(), isOuter);
                        }) &&
           canRunWith(row, group);
  }

  /// Whether the group's row op reads a result of `op` otherwise than element
  /// by element.
  bool isReadWhole(Operation *op, const Growing &group) const {
    RowOpInterface row = group.row;
    if (!row)
      return false;
    SmallVector<unsigned> rows = row.getRowOperands();
    return llvm::any_of(row->getOpOperands(), [&](OpOperand &operand) {
      return operand.get().getDefiningOp() == op &&
             !llvm::is_contained(rows, operand.getOperandNumber());
    });
  }

  /// Whether an op that members of the group read can run at the same time as
  /// these, though others read it as well.
  bool canRunWith(Operation *op, const Growing &group) const {
    return !graph.leads(Members({op}), group.members, group.last);
  }

  Block &block;
  bool fuse;
  GroupGraph graph;
  llvm::SmallPtrSet<Operation *, 32> taken, dead;
  SmallVector<FusionGroup> groups;
};
} // namespace

Operation *FusionGroup::row() const {
  const auto *it = llvm::find_if(ops, llvm::IsaPred<RowOpInterface>);
  return it == ops.end() ? nullptr : *it;
}

SmallVector<FusionGroup> tts::computeFusionGroups(Block &block, bool fuse) {
  return GroupBuilder(block, fuse).run();
}
