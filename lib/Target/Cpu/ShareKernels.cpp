//===- ShareKernels.cpp - one body for kernels that differ in numbers -----===//
//
// Kernels of several buckets, parameters or random streams are mostly the same
// code with other sizes, keys or factors. One of them is kept; where numbers
// differ it reads them from a table that each kernel brings along.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "tts/Dialect/Rt/IR/RtDialect.h"
#include "tts/Target/Cpu/Passes.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace tts::cpu {
#define GEN_PASS_DEF_SHAREKERNELSPASS
#include "tts/Target/Cpu/Passes.h.inc"

namespace {

/// A constant that could be read from a table: a number, or a splat of one.
struct Number {
  arith::ConstantOp op;
  int64_t bits;
};

std::optional<int64_t> bitsOf(Attribute value) {
  if (auto elements = dyn_cast<DenseElementsAttr>(value)) {
    if (!elements.isSplat())
      return std::nullopt;
    value = elements.getSplatValue<Attribute>();
  }
  if (auto number = dyn_cast<FloatAttr>(value))
    return number.getValue().bitcastToAPInt().getZExtValue();
  auto number = dyn_cast<IntegerAttr>(value);
  if (!number || number.getType().isInteger(1))
    return std::nullopt;
  return number.getValue().getSExtValue();
}

/// Everything that a kernel is but its numbers and the sizes of its memory, as
/// words that are equal exactly if two kernels are the same code.
class Shape {
public:
  explicit Shape(func::FuncOp kernel) {
    add(kernel.getArgAttrsAttr().getAsOpaquePointer());
    add(kernel.getBody());
  }

  std::vector<uintptr_t> words;
  std::vector<Number> numbers; ///< in order

private:
  void add(const void *word) { words.push_back(uintptr_t(word)); }
  void addCount(size_t count) { words.push_back(count); }
  void define(Value value) {
    ids.try_emplace(value, ids.size());
    // Sizes of memory stand for nothing that the code does.
    if (auto memory = dyn_cast<MemRefType>(value.getType());
        memory && isa<BlockArgument>(value))
      return add(memory.getElementType().getAsOpaquePointer());
    add(value.getType().getAsOpaquePointer());
  }

  void add(Operation &op) {
    add(op.getName().getAsOpaquePointer());
    auto constant = dyn_cast<arith::ConstantOp>(op);
    if (auto bits = constant ? bitsOf(constant.getValue()) : std::nullopt)
      numbers.push_back({constant, *bits});
    else
      add(op.getAttrDictionary().getAsOpaquePointer());
    addCount(op.getNumOperands());
    for (Value operand : op.getOperands())
      addCount(ids.lookup(operand));
    for (Value result : op.getResults())
      define(result);
    for (Region &region : op.getRegions())
      add(region);
  }

  void add(Region &region) {
    for (Block &block : region) {
      addCount(block.getNumArguments());
      for (Value argument : block.getArguments())
        define(argument);
      for (Operation &op : block)
        add(op);
      add(nullptr);
    }
  }

  llvm::DenseMap<Value, size_t> ids;
};

struct Sharer {
  MLIRContext *context;
  /// The same code; the first one is kept.
  SmallVector<func::FuncOp> kernels;
  SmallVector<std::vector<Number>> numbers; ///< by kernel

  void run();

private:
  /// A number of the kept kernel becomes `loaded`, 64 bits from the table.
  void replace(ImplicitLocOpBuilder &b, Number number, Value loaded);
};

void Sharer::replace(ImplicitLocOpBuilder &b, Number number, Value loaded) {
  Type type = number.op.getType(), element = getElementTypeOrSelf(type);
  Value value = loaded;
  Type integer = b.getI64Type();
  if (!element.isIndex() && element.getIntOrFloatBitWidth() < 64) {
    integer = b.getIntegerType(element.getIntOrFloatBitWidth());
    value = arith::TruncIOp::create(b, integer, value);
  }
  if (element.isIndex())
    value = arith::IndexCastOp::create(b, element, value);
  else if (element != integer)
    value = arith::BitcastOp::create(b, element, value);
  if (auto vector = dyn_cast<VectorType>(type))
    value = vector::BroadcastOp::create(b, vector, value);
  number.op.replaceAllUsesWith(value);
}

void Sharer::run() {
  func::FuncOp kept = kernels.front();
  // Numbers that change together share a slot.
  llvm::MapVector<std::vector<int64_t>, SmallVector<Number>,
                  std::map<std::vector<int64_t>, unsigned>>
      slots;
  for (auto [i, number] : llvm::enumerate(numbers.front())) {
    std::vector<int64_t> column;
    for (const auto &own : numbers)
      column.push_back(own[i].bits);
    if (!llvm::all_equal(column))
      slots[column].push_back(number);
  }
  Builder b(context);
  SmallVector<Attribute> instances;
  for (auto [i, kernel] : llvm::enumerate(kernels)) {
    SmallVector<int64_t> table;
    for (auto &slot : slots)
      table.push_back(slot.first[i]);
    instances.push_back(b.getDictionaryAttr(
        {b.getNamedAttr("name", b.getStringAttr(kernel.getName())),
         b.getNamedAttr("range", kernel->getAttr(rt::kRangeAttr)),
         b.getNamedAttr("numbers", b.getDenseI64ArrayAttr(table))}));
  }
  kept->setAttr(rt::kInstancesAttr, b.getArrayAttr(instances));
  // Before lo and hi, which stay the last two.
  unsigned at = kept.getNumArguments() - 2;
  auto type =
      MemRefType::get({int64_t(slots.size())}, IntegerType::get(context, 64));
  (void)kept.insertArgument(at, type, {}, kept.getLoc());
  // Read at the start: inside a loop a store might change them.
  ImplicitLocOpBuilder builder(kept.getLoc(), context);
  builder.setInsertionPointToStart(&kept.front());
  for (auto [slot, entry] : llvm::enumerate(slots)) {
    Value index = arith::ConstantIndexOp::create(builder, slot);
    Value loaded = memref::LoadOp::create(builder, kept.getArgument(at), index);
    for (Number number : entry.second)
      replace(builder, number, loaded);
  }
  for (auto &slot : slots)
    for (Number number : slot.second)
      number.op.erase();
  for (func::FuncOp kernel : llvm::drop_begin(kernels))
    kernel.erase();
}

struct ShareKernelsPass : impl::ShareKernelsPassBase<ShareKernelsPass> {
  void runOnOperation() override {
    llvm::MapVector<std::vector<uintptr_t>, Sharer,
                    std::map<std::vector<uintptr_t>, unsigned>>
        groups;
    for (auto kernel : getOperation().getOps<func::FuncOp>()) {
      if (!kernel->hasAttr(rt::kRangeAttr))
        continue;
      Shape shape(kernel);
      Sharer &group = groups[std::move(shape.words)];
      group.context = &getContext();
      group.kernels.push_back(kernel);
      group.numbers.push_back(std::move(shape.numbers));
    }
    for (auto &group : groups) {
      if (group.second.kernels.size() < 2)
        continue;
      numShared += group.second.kernels.size() - 1;
      group.second.run();
    }
  }
};

} // namespace
} // namespace tts::cpu
