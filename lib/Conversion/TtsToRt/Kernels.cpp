//===- Kernels.cpp - outlining fusion groups into kernels ----------------===//

#include "Kernels.h"
#include "mlir/IR/IRMapping.h"
#include "tts/Dialect/Rt/IR/RtDialect.h"
#include "tts/Dialect/Tts/IR/Fusion.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tts;

/// What the group reads from outside, each value once, in order of first use.
static llvm::SetVector<Value> getOperands(const FusionGroup &group) {
  llvm::SetVector<Value> operands;
  for (Operation *op : group.ops)
    for (Value operand : op->getOperands())
      if (!llvm::is_contained(group.ops, operand.getDefiningOp()))
        operands.insert(operand);
  return operands;
}

/// The operand whose storage a result takes, or null.
static Value getTiedOperand(Value result) {
  Operation *op = result.getDefiningOp();
  if (auto inPlace = dyn_cast<InPlaceOpInterface>(op)) {
    int64_t operand =
        inPlace.getTiedOperand(cast<OpResult>(result).getResultNumber());
    return operand < 0 ? Value() : op->getOperand(operand);
  }
  if (auto accumulating = dyn_cast<AccumulatingOpInterface>(op))
    return accumulating.getAccumulator();
  return {};
}

/// An update, which its average and its half copy follow, or of many tensors
/// the first; else null.
static Operation *getFirst(const FusionGroup &group) {
  auto isFirst = [&](Operation *op) {
    return isa<PerTensorOpInterface>(op) &&
           (group.parts > 1 || isa<InPlaceOpInterface>(op));
  };
  const auto *it = llvm::find_if(group.ops, isFirst);
  return it == group.ops.end() ? nullptr : *it;
}

/// "relu_8x64x256_f32": the op that tells most, its first result's type; or
/// "adamw_195_tensors_f32".
static std::string getBaseName(const FusionGroup &group) {
  Operation *root = group.row() ? group.row() : group.root();
  if (Operation *first = getFirst(group))
    root = first;
  auto type = cast<RankedTensorType>(root->getResult(0).getType());
  std::string name;
  llvm::raw_string_ostream os(name);
  os << root->getName().stripDialect() << "_";
  if (group.parts > 1)
    os << group.parts << "_tensors_";
  else
    for (int64_t size : type.getShape())
      os << size << "x";
  os << type.getElementType();
  return name;
}

static int64_t indexOf(ValueRange values, Value value) {
  auto it = llvm::find(values, value);
  return it == values.end() ? -1 : std::distance(values.begin(), it);
}

func::FuncOp KernelTable::build(const FusionGroup &group, ValueRange operands) {
  OpBuilder builder(group.root()->getContext());
  auto type = builder.getFunctionType(operands.getTypes(),
                                      ValueRange(group.results).getTypes());
  auto kernel = func::FuncOp::create(builder.getUnknownLoc(), "kernel", type);
  kernel.setPrivate();
  kernel->setAttr(rt::kKernelAttr, builder.getUnitAttr());
  Block *body = kernel.addEntryBlock();
  builder.setInsertionPointToStart(body);
  IRMapping mapping;
  mapping.map(operands, body->getArguments());
  // What other phases noted on an op is no part of the kernel.
  for (Operation *op : group.ops)
    builder.clone(*op, mapping)
        ->setDiscardableAttrs(builder.getDictionaryAttr({}));
  SmallVector<Value> results;
  for (auto [index, result] : llvm::enumerate(group.results)) {
    results.push_back(mapping.lookup(result));
    if (Value tied = getTiedOperand(result))
      kernel.setResultAttr(index, rt::kTiedAttr,
                           builder.getI64IntegerAttr(indexOf(operands, tied)));
  }
  func::ReturnOp::create(builder, group.root()->getLoc(), results);
  return kernel;
}

KernelTable::Words KernelTable::describe(const FusionGroup &group,
                                         ValueRange operands) {
  Words words;
  llvm::DenseMap<Value, uintptr_t> numbers;
  auto define = [&](Value value) {
    numbers.try_emplace(value, numbers.size());
    words.push_back(uintptr_t(value.getType().getAsOpaquePointer()));
  };
  words.push_back(operands.size());
  llvm::for_each(operands, define);
  for (Operation *op : group.ops) {
    assert(op->getNumRegions() == 0 && "a kernel's op has no region");
    words.push_back(uintptr_t(op->getName().getAsOpaquePointer()));
    words.push_back(op->hashProperties());
    words.push_back(op->getNumOperands());
    for (Value operand : op->getOperands())
      words.push_back(numbers.lookup(operand));
    llvm::for_each(op->getResults(), define);
  }
  for (Value result : group.results) {
    words.push_back(numbers.lookup(result));
    Value tied = getTiedOperand(result);
    words.push_back(tied ? indexOf(operands, tied) : -1);
  }
  return words;
}

/// The kernel that does what the group does, perhaps a new one.
func::FuncOp KernelTable::find(const FusionGroup &group, ValueRange operands) {
  SmallVector<func::FuncOp, 1> &alike = kernels[describe(group, operands)];
  for (func::FuncOp kernel : alike)
    if (llvm::all_of(
            llvm::zip(group.ops, kernel.getBody().front()), [](auto pair) {
              auto &[op, its] = pair;
              return op->getName().compareOpProperties(
                  op->getPropertiesStorage(), its.getPropertiesStorage());
            }))
      return kernel;
  func::FuncOp kernel = build(group, operands);
  std::string name = getBaseName(group);
  if (unsigned uses = names[name]++)
    name += "_" + std::to_string(uses);
  kernel.setName(name);
  module.push_back(kernel);
  ++numKernels;
  return alike.emplace_back(kernel);
}

/// An operand of the result's type whose storage a pointwise kernel may take
/// over when it dies there; one that this kernel alone reads, if there is any.
/// A row op may read its operands again after it has written.
static int64_t getInPlaceOperand(Value result, const FusionGroup &group,
                                 ValueRange operands) {
  if (group.row() || !isElementwise(result.getDefiningOp()))
    return -1;
  int64_t best = -1;
  for (auto [index, operand] : llvm::enumerate(operands)) {
    if (operand.getType() != result.getType())
      continue;
    if (operand.getDefiningOp() && operand.hasOneUse())
      return index;
    if (best < 0)
      best = index;
  }
  return best;
}

void KernelTable::outline(const FusionGroup &group) {
  Operation *root = group.root();
  SmallVector<Value> operands = getOperands(group).takeVector();
  func::FuncOp kernel = find(group, operands);
  SmallVector<int64_t> tied, inPlace;
  for (Value result : group.results) {
    Value value = getTiedOperand(result);
    tied.push_back(value ? indexOf(operands, value) : -1);
    inPlace.push_back(value ? -1 : getInPlaceOperand(result, group, operands));
  }
  OpBuilder builder(root);
  Operation *first = getFirst(group);
  auto launch = rt::LaunchOp::create(builder, (first ? first : root)->getLoc(),
                                     ValueRange(group.results).getTypes(),
                                     kernel.getName(), operands,
                                     builder.getDenseI64ArrayAttr(tied),
                                     builder.getDenseI64ArrayAttr(inPlace));
  for (auto [i, result] : llvm::enumerate(group.results))
    Value(result).replaceAllUsesWith(launch.getResult(i));
  ++numLaunches;
}
