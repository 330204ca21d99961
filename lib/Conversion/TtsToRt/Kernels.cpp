//===- Kernels.cpp - outlining fusion groups into kernels ----------------===//

#include "Kernels.h"
#include "mlir/IR/IRMapping.h"
#include "tts/Dialect/Rt/IR/RtDialect.h"
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

/// The operand whose storage result `index` of `root` takes, or null.
static Value getTiedOperand(Operation *root, unsigned index) {
  if (auto inPlace = dyn_cast<InPlaceOpInterface>(root)) {
    int64_t operand = inPlace.getTiedOperand(index);
    return operand < 0 ? Value() : root->getOperand(operand);
  }
  if (auto accumulating = dyn_cast<AccumulatingOpInterface>(root))
    return accumulating.getAccumulator();
  return {};
}

/// "relu_8x64x256_f32": the root's op, its first result's type.
static std::string getBaseName(Operation *root) {
  auto type = cast<RankedTensorType>(root->getResult(0).getType());
  std::string name;
  llvm::raw_string_ostream os(name);
  os << root->getName().stripDialect() << "_";
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
  Operation *root = group.root();
  OpBuilder builder(root->getContext());
  auto type =
      builder.getFunctionType(operands.getTypes(), root->getResultTypes());
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
  for (auto [index, result] : llvm::enumerate(root->getResults())) {
    results.push_back(mapping.lookup(result));
    if (Value tied = getTiedOperand(root, index))
      kernel.setResultAttr(index, rt::kTiedAttr,
                           builder.getI64IntegerAttr(indexOf(operands, tied)));
  }
  func::ReturnOp::create(builder, root->getLoc(), results);
  return kernel;
}

func::FuncOp KernelTable::unique(func::FuncOp kernel) {
  std::string text;
  llvm::raw_string_ostream os(text);
  kernel.print(os, OpPrintingFlags().useLocalScope());
  auto [it, inserted] = kernels.try_emplace(text, kernel);
  if (!inserted) {
    kernel.erase();
    return it->second;
  }
  Operation *root = kernel.getBody().front().getTerminator()->getPrevNode();
  std::string name = getBaseName(root);
  if (unsigned uses = names[name]++)
    name += "_" + std::to_string(uses);
  kernel.setName(name);
  module.push_back(kernel);
  return kernel;
}

/// An operand of the result's type whose storage a pointwise kernel may take
/// over when it dies there; one that this kernel alone reads, if there is any.
static int64_t getInPlaceOperand(Operation *root, ValueRange operands) {
  if (!root->hasTrait<Pointwise>())
    return -1;
  int64_t best = -1;
  for (auto [index, operand] : llvm::enumerate(operands)) {
    if (operand.getType() != root->getResult(0).getType())
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
  func::FuncOp kernel = unique(build(group, operands));
  SmallVector<int64_t> tied, inPlace;
  for (unsigned i = 0; i < root->getNumResults(); ++i) {
    Value value = getTiedOperand(root, i);
    tied.push_back(value ? indexOf(operands, value) : -1);
    inPlace.push_back(value ? -1 : getInPlaceOperand(root, operands));
  }
  OpBuilder builder(root);
  auto launch = rt::LaunchOp::create(
      builder, root->getLoc(), root->getResultTypes(), kernel.getName(),
      operands, builder.getDenseI64ArrayAttr(tied),
      builder.getDenseI64ArrayAttr(inPlace));
  root->replaceAllUsesWith(launch.getResults());
  ++numLaunches;
}
