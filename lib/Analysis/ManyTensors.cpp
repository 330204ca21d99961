//===- ManyTensors.cpp - many tensors that undergo the same ---------------===//

#include "ManyTensors.h"
#include "tts/Dialect/Tts/IR/Fusion.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include <map>

using namespace mlir;
using namespace tts;

namespace {
/// What a kernel can be handed: a GPU takes 4 KiB of arguments.
constexpr size_t kMostTensors = 500;

ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

/// Whether a result needs no storage beside that of an operand.
bool isTied(Value result) {
  Operation *op = result.getDefiningOp();
  auto inPlace = dyn_cast<InPlaceOpInterface>(op);
  return inPlace &&
         inPlace.getTiedOperand(cast<OpResult>(result).getResultNumber()) >= 0;
}

// Only what outlives the program, or a single number: temporary tensors that
// are read or made at the same time are live at the same time.
bool isSmallOrGiven(Value operand) {
  return isa<BlockArgument>(operand) || shapeOf(operand).empty();
}

bool isSmallOrReturned(Value result, const FusionGroup &group) {
  return shapeOf(result).empty() ||
         llvm::all_of(result.getUsers(), [&](Operation *user) {
           return user->hasTrait<OpTrait::IsTerminator>() ||
                  llvm::is_contained(group.ops, user);
         });
}

/// What two groups must agree in to be one kernel's parts: words that are equal
/// exactly if the groups differ in nothing but their tensors and shapes.
class Likeness {
public:
  explicit Likeness(const FusionGroup &group) {
    canJoin = llvm::all_of(group.results, [&](Value result) {
      return isSmallOrReturned(result, group);
    });
    ArrayRef<int64_t> shape = shapeOf(group.results.front());
    for (Operation *op : group.ops) {
      canJoin &= isa<PerTensorOpInterface>(op);
      add(op->getName().getAsOpaquePointer());
      add(op->getPropertiesAsAttribute().getAsOpaquePointer());
      // What is not pointwise sums up its operand.
      for (Value operand : op->getOperands())
        addOperand(operand, !isElementwise(op) || shapeOf(operand) == shape);
      for (Value result : op->getResults())
        define(result, llvm::is_contained(group.results, result));
    }
    tensors = own.size() + llvm::count_if(group.results, [](Value result) {
                return !isTied(result);
              });
  }

  bool canJoin;
  std::vector<uintptr_t> words;
  llvm::SetVector<Value> own; ///< operands that each part has for itself
  size_t shared = 0;          ///< operands that all parts read
  size_t tensors;             ///< that a part adds to a kernel's arguments

private:
  void add(const void *word) { words.push_back(uintptr_t(word)); }
  void define(Value value, bool isResult) {
    numbers.try_emplace(value, numbers.size() + 1);
    Type type = cast<RankedTensorType>(value.getType()).getElementType();
    add(type.getAsOpaquePointer());
    words.push_back(isResult);
  }
  void addOperand(Value operand, bool isOwn) {
    if (unsigned number = numbers.lookup(operand)) {
      words.push_back(number);
      return;
    }
    define(operand, /*isResult=*/false);
    if (isOwn) {
      own.insert(operand);
      canJoin &= isSmallOrGiven(operand);
    } else {
      ++shared;
      add(operand.getAsOpaquePointer());
    }
  }

  llvm::DenseMap<Value, unsigned> numbers;
};

/// Groups that are alike, in order, as far as they can run as one.
class Joiner {
public:
  explicit Joiner(GroupGraph &graph) : graph(graph) {}

  void add(FusionGroup &group, const Likeness &like) {
    if (!first || used + like.tensors > kMostTensors ||
        !isIndependent(group, like)) {
      first = &group;
      last = group.ops.back();
      used = like.shared;
      ops.clear();
      tensors.clear();
      ops.insert(group.ops.begin(), group.ops.end());
    } else {
      first->ops.append(group.ops);
      first->results.append(group.results);
      first->parts += group.parts;
      graph.extend(first->ops.front(), group.ops);
      if (last->isBeforeInBlock(group.ops.back()))
        last = group.ops.back();
      ops.insert(group.ops.begin(), group.ops.end());
      group.ops.clear();
    }
    used += like.tensors;
    tensors.insert(like.own.begin(), like.own.end());
  }

private:
  bool isIndependent(const FusionGroup &group, const Likeness &like) const {
    auto isOurs = [&](Operation *op) { return ops.contains(op); };
    for (Value operand : like.own)
      if (tensors.contains(operand) ||
          (operand.getDefiningOp() && isOurs(operand.getDefiningOp())))
        return false;
    for (Value result : group.results)
      if (llvm::any_of(result.getUsers(), isOurs))
        return false;
    llvm::SmallPtrSet<Operation *, 16> joining(group.ops.begin(),
                                               group.ops.end());
    if (graph.leads(joining, ops, last))
      return false;
    // What all parts read our ops do not lead to: they would lead back to us.
    return llvm::all_of(like.own, llvm::IsaPred<BlockArgument>) ||
           !graph.leads(ops, joining, group.ops.back());
  }

  GroupGraph &graph;
  FusionGroup *first = nullptr;
  Operation *last = nullptr; ///< in the block, of `ops`
  llvm::SmallPtrSet<Operation *, 16> ops;
  llvm::DenseSet<Value> tensors; ///< that a part reads for itself
  size_t used = 0;               ///< operands and results of `first`
};
} // namespace

void tts::joinManyTensors(SmallVectorImpl<FusionGroup> &groups,
                          GroupGraph &graph) {
  std::map<std::vector<uintptr_t>, Joiner> joiners;
  for (FusionGroup &group : groups) {
    Likeness like(group);
    if (like.canJoin)
      joiners.try_emplace(like.words, graph).first->second.add(group, like);
  }
  llvm::erase_if(groups,
                 [](const FusionGroup &group) { return group.ops.empty(); });
}
