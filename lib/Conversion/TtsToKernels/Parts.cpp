//===- Parts.cpp - one kernel over many tensors ---------------------------===//

#include "Parts.h"
#include "Rules.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "tts/Dialect/Tts/IR/Fusion.h"
#include "llvm/ADT/EquivalenceClasses.h"

using namespace mlir;

namespace tts::kernels {

/// Elements of a number of the range: enough to make finding its tensor cheap.
static constexpr int64_t kBlock = 128 * kLanes;

static int64_t elementsOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getNumElements();
}

/// Memory that could be any part's: its size is not known.
static MemRefType unsizedType(Value value) {
  Type element = cast<RankedTensorType>(value.getType()).getElementType();
  return MemRefType::get({ShapedType::kDynamic}, element);
}

SmallVector<Value> Parts::tensorsAndResults(const Part &part) {
  SmallVector<Value> values(part.tensors);
  values.append(part.results);
  return values;
}

Parts::Parts(func::FuncOp kernel) : kernel(kernel) {
  llvm::EquivalenceClasses<Operation *> together;
  for (Operation &op : kernel.front().without_terminator()) {
    allPerTensor &= isa<PerTensorOpInterface>(op);
    together.insert(&op);
    for (Value operand : op.getOperands())
      if (Operation *producer = operand.getDefiningOp())
        together.unionSets(producer, &op);
  }
  llvm::DenseMap<Operation *, size_t> numbers;
  for (Operation &op : kernel.front().without_terminator()) {
    Operation *leader = together.getLeaderValue(&op);
    size_t number = numbers.try_emplace(leader, parts.size()).first->second;
    if (number == parts.size())
      parts.emplace_back();
    parts[number].ops.push_back(&op);
  }
  for (Part &part : parts)
    addTensors(part);
}

void Parts::addTensors(Part &part) {
  OperandRange returned = kernel.front().getTerminator()->getOperands();
  auto readsHere = [&](Operation *user) {
    return llvm::is_contained(part.ops, user);
  };
  for (Operation *op : part.ops) {
    for (Value operand : op->getOperands())
      if (isa<BlockArgument>(operand) &&
          llvm::all_of(operand.getUsers(), readsHere) &&
          !llvm::is_contained(part.tensors, operand))
        part.tensors.push_back(operand);
    for (Value result : op->getResults())
      if (llvm::is_contained(returned, result))
        part.results.push_back(result);
  }
  for (Value value : tensorsAndResults(part))
    part.elements = std::max(part.elements, elementsOf(value));
}

bool Parts::areAlike(const Part &part) const {
  const Part &first = parts.front();
  return llvm::equal(first.ops, part.ops,
                     [](Operation *a, Operation *b) {
                       return a->getName() == b->getName() &&
                              a->getPropertiesAsAttribute() ==
                                  b->getPropertiesAsAttribute();
                     }) &&
         first.tensors.size() == part.tensors.size() &&
         first.results.size() == part.results.size();
}

bool Parts::areSums(const Rules &rules) const {
  return rules.findSum(parts.front().ops.front());
}

LogicalResult Parts::check(const Rules &rules) {
  if (!llvm::all_of(parts, [&](const Part &part) { return areAlike(part); }))
    return kernel.emitError("the parts of the kernel are not the same ops");
  for (Operation *op : parts.front().ops) {
    bool isSum = rules.findSum(op) && parts.front().ops.size() == 1;
    if (!isSum && !rules.isFlat(op))
      return op->emitError("no kernel over many tensors can be made of '")
             << op->getName() << "'";
  }
  return success();
}

int64_t Parts::tasksOf(const Part &part, bool sums) const {
  return sums ? 1 : llvm::divideCeil(part.elements, kBlock);
}

std::pair<Value, Value> Parts::choose(Emitter &e, Value task, bool sums) const {
  ImplicitLocOpBuilder &b = e.builder();
  SmallVector<int64_t> firsts;
  int64_t end = 0;
  Value number = e.integer(b.getI32Type(), 0);
  for (const Part &part : parts) {
    firsts.push_back(end);
    end += tasksOf(part, sums);
    if (&part == &parts.back())
      break;
    Value isBeyond =
        arith::CmpIOp::create(b, arith::CmpIPredicate::sge, task, e.index(end));
    number = arith::AddIOp::create(
        b, number, arith::ExtUIOp::create(b, b.getI32Type(), isBeyond));
  }
  e.range = end;
  const Part &pattern = parts.front();
  SmallVector<Type> types;
  for (Value value : tensorsAndResults(pattern))
    types.push_back(unsizedType(value));
  types.append(2, b.getIndexType());
  SmallVector<Value> chosen =
      e.choose(e.toIndex(number), types, parts.size(), [&](size_t i) {
        SmallVector<Value> own;
        for (Value value : tensorsAndResults(parts[i]))
          own.push_back(
              memref::CastOp::create(b, unsizedType(value), e.memoryOf(value)));
        own.append({e.index(firsts[i]), e.index(parts[i].elements)});
        return own;
      });
  Value elements = chosen.pop_back_val(), first = chosen.pop_back_val();
  for (auto [value, memory] :
       llvm::zip_equal(tensorsAndResults(pattern), chosen))
    e.place(value, memory);
  return {arith::SubIOp::create(b, task, first), elements};
}

/// All results of a chunk before any is stored, as in any map.
void Parts::emitBlock(Emitter &e, Value block, Value elements) const {
  ImplicitLocOpBuilder &b = e.builder();
  Value first = arith::MulIOp::create(b, block, e.index(kBlock));
  Value end = arith::MinSIOp::create(
      b, arith::AddIOp::create(b, first, e.index(kBlock)), elements);
  e.chunksBetween(first, end, {}, [&](ValueRange) {
    Position at;
    at.chunk = at.flat = true;
    SmallVector<Value> computed;
    for (Value result : parts.front().results)
      computed.push_back(e.emitLanes(result, at));
    for (auto [result, lanes] :
         llvm::zip_equal(parts.front().results, computed))
      e.store(result, lanes, at);
    return Emitter::Values();
  });
}

void Parts::emit(Emitter &e, const Rules &rules) const {
  bool sums = areSums(rules);
  SmallVector<std::pair<Value, Value>> places;
  const Part &pattern = parts.front();
  for (Value value : tensorsAndResults(pattern))
    places.push_back({value, e.memoryOf(value)});
  e.loop(e.lo, e.hi, {}, [&](Value task, ValueRange) {
    auto [block, elements] = choose(e, task, sums);
    if (sums) {
      Operation *op = pattern.ops.front();
      Value sum = (*rules.findSum(op))(op, e, elements);
      e.store(pattern.results.front(), sum, {});
    } else {
      emitBlock(e, block, elements);
    }
    return Emitter::Values();
  });
  for (auto [value, memory] : places)
    e.place(value, memory);
}

} // namespace tts::kernels
