//===- Emitter.cpp - values, memory and small pieces of code --------------===//

#include "Emitter.h"
#include "Rules.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"

using namespace mlir;

namespace tts::kernels {

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

bool Position::operator==(const Position &other) const {
  return leading == other.leading && chunk == other.chunk &&
         flat == other.flat && shift == other.shift;
}

Position Position::ofRow() const {
  Position at;
  at.leading = leading;
  at.row = row;
  at.rowSpace = rowSpace.drop_back();
  return at;
}

Emitter::Emitter(ImplicitLocOpBuilder builder, const Rules &rules)
    : b(builder), rules(rules), entry(builder.getInsertionBlock()) {}

//===-- values ------------------------------------------------------------===//

Value Emitter::emit(Value value, const Position &at) {
  Memo &memo = at.chunk ? lanes : scalars;
  for (auto &[key, computed] : memo)
    if (key.first == value && key.second == at)
      return computed;

  Value place = at.chunk ? keptIn.lookup(value) : Value();
  if (place && pass > 1 && kept.contains(value)) {
    Value loaded = reload(place, at);
    memo.push_back({{value, at}, loaded});
    return loaded;
  }
  OpBuilder::InsertionGuard guard(b);
  if (!at.chunk && anchor)
    b.setInsertionPoint(anchor);
  if (Value memory = memoryOfArgument.lookup(value)) {
    Value loaded = load(memory, shapeOf(value), at);
    memo.push_back({{value, at}, loaded});
    return loaded;
  }
  assert(!at.shift && "rules know the emitter's chunk only");
  Operation *op = value.getDefiningOp();
  const Rules::Map *rule = rules.findMap(op);
  assert(rule && "the kernel's body was checked");
  Values computed = (*rule)(op, *this, at);
  for (auto [result, piece] : llvm::zip_equal(op->getResults(), computed)) {
    if (!rules.isExact(op))
      piece = rounded(piece, result);
    memo.push_back({{result, at}, piece});
  }
  Value piece = computed[cast<OpResult>(value).getResultNumber()];
  if (place && pass == 1) {
    storeTo(place, piece, at);
    kept.insert(value);
  }
  return piece;
}

Value Emitter::emitLanes(Value value, const Position &at) {
  Value piece = emit(value, at);
  return at.chunk && !isa<VectorType>(piece.getType()) ? splat(piece) : piece;
}

Value Emitter::emitScalar(Value value, ArrayRef<Value> indices) {
  Position at;
  at.leading.assign(indices.begin(), indices.end());
  return emit(value, at);
}

Emitter::Values Emitter::emitOperands(Operation *op, const Position &at) {
  Values pieces;
  bool anyLanes = false;
  for (Value operand : op->getOperands()) {
    pieces.push_back(emit(operand, at));
    anyLanes |= isa<VectorType>(pieces.back().getType());
  }
  if (anyLanes)
    for (Value &piece : pieces)
      if (!isa<VectorType>(piece.getType()))
        piece = splat(piece);
  return pieces;
}

Value Emitter::offset(Value first, Value index, int64_t scale) {
  Value term = b.createOrFold<arith::MulIOp>(index, this->index(scale));
  return first ? b.createOrFold<arith::AddIOp>(first, term) : term;
}

Value Emitter::address(ArrayRef<int64_t> shape, const Position &at) {
  if (at.flat)
    return firstColumn;
  assert(at.leading.size() + at.chunk == shape.size() &&
         "an index per dimension");
  Value first = at.chunk ? firstColumn : nullptr;
  if (at.shift)
    first = offset(first, index(1), at.shift);
  int64_t stride = at.chunk ? shape.back() : 1;
  if (at.row && at.rowSpace == shape)
    return at.chunk ? offset(first, at.row, stride) : at.row;
  for (size_t i = at.leading.size(); i-- > 0; stride *= shape[i])
    first = offset(first, at.leading[i], stride);
  return first ? first : index(0);
}

Value Emitter::load(Value memory, ArrayRef<int64_t> shape, const Position &at) {
  Value first = address(shape, at);
  if (at.chunk)
    return loadLanes(memory, first);
  return loadScalar(memory, first);
}

Value Emitter::rounded(Value piece, Value tensor) {
  Type element = getElementTypeOrSelf(tensor.getType());
  Type computed = computeType(element);
  return computed == element
             ? piece
             : convertFloat(convertFloat(piece, element), computed);
}

static Type elementOfMemory(Value memory) {
  return cast<MemRefType>(memory.getType()).getElementType();
}

Value Emitter::loadScalar(Value memory, Value offset) {
  Value loaded = memref::LoadOp::create(b, memory, offset);
  return convertFloat(loaded, computeType(loaded.getType()));
}

void Emitter::storeScalar(Value scalar, Value memory, Value offset) {
  memref::StoreOp::create(b, convertFloat(scalar, elementOfMemory(memory)),
                          memory, offset);
}

Value Emitter::loadLanes(Value memory, Value offset) {
  Type element = elementOfMemory(memory);
  auto type = VectorType::get({kLanes}, element);
  Value loaded;
  if (mask)
    loaded = vector::MaskedLoadOp::create(b, type, memory, offset, mask,
                                          constant(type, 0));
  else
    loaded = vector::LoadOp::create(b, type, memory, offset);
  return convertFloat(loaded, computeType(element));
}

void Emitter::storeLanes(Value lanes, Value memory, Value offset) {
  lanes = convertFloat(lanes, elementOfMemory(memory));
  if (mask)
    vector::MaskedStoreOp::create(b, memory, offset, mask, lanes);
  else
    vector::StoreOp::create(b, lanes, memory, offset);
}

bool Emitter::canFlatten(Value value) const {
  Operation *op = value.getDefiningOp();
  if (!op)
    return true;
  if (isa<BroadcastOp>(op))
    return shapeOf(op->getOperand(0)).empty();
  // An operand of another shape is read at indices of the rule's own.
  return rules.isFlat(op) &&
         llvm::all_of(op->getOperands(), [&](Value operand) {
           return shapeOf(operand) != shapeOf(value) || canFlatten(operand);
         });
}

//===-- results -----------------------------------------------------------===//

void Emitter::store(Value result, Value computed, const Position &at) {
  Values pieces;
  if (result == row && !afterRow.empty())
    lanes.push_back({{result, at}, rounded(lanesOf(computed), result)});
  if (result == row)
    for (Value value : afterRow)
      pieces.push_back(emitLanes(value, at));
  storeTo(result, computed, at);
  for (size_t i = 0; i < pieces.size(); ++i)
    storeTo(afterRow[i], pieces[i], at);
}

void Emitter::storeTo(Value result, Value computed, const Position &at) {
  for (auto [returned, memory] : outputs) {
    if (returned != result)
      continue;
    Value offset = address(shapeOf(returned), at);
    if (!at.chunk) {
      storeScalar(computed, memory, offset);
      continue;
    }
    bool isLanes = isa<VectorType>(computed.getType());
    storeLanes(isLanes ? computed : splat(computed), memory, offset);
  }
}

bool Emitter::isReturned(Value result) const {
  return llvm::any_of(outputs,
                      [&](auto &pair) { return pair.first == result; });
}

bool Emitter::sharesStorage(Value result, Value argument) const {
  Value memory = memoryOfArgument.lookup(argument);
  return llvm::any_of(outputs, [&](auto &pair) {
    return pair.first == result && pair.second == memory;
  });
}

Value Emitter::reload(Value result, const Position &at) {
  for (auto [returned, memory] : outputs)
    if (returned == result)
      return load(memory, shapeOf(result), at);
  llvm_unreachable("only what the kernel returns can be read again");
}

void Emitter::continueRow(Value result, ArrayRef<Value> after) {
  row = result;
  afterRow.assign(after.begin(), after.end());
}

void Emitter::keep(Value operand, Value result) { keptIn[operand] = result; }

//===-- memory ------------------------------------------------------------===//

Value Emitter::memoryOf(Value value) const {
  if (Value memory = memoryOfArgument.lookup(value))
    return memory;
  auto it = llvm::find_if(
      outputs, [&](const auto &pair) { return pair.first == value; });
  assert(it != outputs.end() && "only arguments and results have memory");
  return it->second;
}

void Emitter::place(Value value, Value memory) {
  if (isa<BlockArgument>(value)) {
    memoryOfArgument[value] = memory;
    return;
  }
  for (auto &[returned, place] : outputs)
    if (returned == value)
      place = memory;
}

//===-- small pieces of code ----------------------------------------------===//

Value Emitter::index(int64_t value) {
  Value &constant = indexConstants[value];
  if (!constant) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(entry);
    constant = arith::ConstantIndexOp::create(b, value);
  }
  return constant;
}

Type Emitter::computeType(Type element) {
  return element.isBF16() || element.isF16() ? b.getF32Type() : element;
}

Type Emitter::computeTypeOf(Value tensor) {
  return computeType(getElementTypeOrSelf(tensor.getType()));
}

Value Emitter::constant(Type type, double value) {
  Type element = getElementTypeOrSelf(type);
  TypedAttr attribute = isa<FloatType>(element)
                            ? TypedAttr(b.getFloatAttr(element, value))
                            : b.getIntegerAttr(element, int64_t(value));
  if (auto shaped = dyn_cast<ShapedType>(type))
    attribute = DenseElementsAttr::get(shaped, Attribute(attribute));
  return arith::ConstantOp::create(b, attribute);
}

Value Emitter::integer(Type type, int64_t value) {
  Type element = getElementTypeOrSelf(type);
  TypedAttr attribute = b.getIntegerAttr(
      element, APInt(element.getIntOrFloatBitWidth(), uint64_t(value),
                     /*isSigned=*/false, /*implicitTrunc=*/true));
  if (auto shaped = dyn_cast<ShapedType>(type))
    attribute = DenseElementsAttr::get(shaped, Attribute(attribute));
  return arith::ConstantOp::create(b, attribute);
}

Value Emitter::splat(Value scalar) {
  return vector::BroadcastOp::create(
      b, VectorType::get({kLanes}, scalar.getType()), scalar);
}

Value Emitter::shapedLike(Value value, Value like) {
  auto shaped = dyn_cast<VectorType>(like.getType());
  if (!shaped || isa<VectorType>(value.getType()))
    return value;
  return vector::BroadcastOp::create(
      b, VectorType::get(shaped.getShape(), value.getType()), value);
}

Value Emitter::iota(Value first, int64_t count) {
  Type element = first.getType();
  SmallVector<Attribute> numbers;
  for (int64_t i = 0; i < count; ++i)
    numbers.push_back(b.getIntegerAttr(element, i));
  auto type = VectorType::get({count}, element);
  Value steps = arith::ConstantOp::create(
      b, cast<TypedAttr>(DenseElementsAttr::get(type, numbers)));
  Value base = vector::BroadcastOp::create(b, type, first);
  return arith::AddIOp::create(b, base, steps);
}

Value Emitter::convertFloat(Value x, Type element) {
  Type type = element;
  if (auto vector = dyn_cast<VectorType>(x.getType()))
    type = VectorType::get(vector.getShape(), element);
  Type from = getElementTypeOrSelf(x);
  if (from == element)
    return x;
  if (!isa<FloatType>(element))
    return x;
  if (isa<IntegerType>(from))
    return arith::SIToFPOp::create(b, type, x);
  if (from.getIntOrFloatBitWidth() < element.getIntOrFloatBitWidth())
    return arith::ExtFOp::create(b, type, x);
  if (from.getIntOrFloatBitWidth() > element.getIntOrFloatBitWidth())
    return arith::TruncFOp::create(b, type, x);
  // Neither of f16 and bf16 holds the other: by way of f32.
  return convertFloat(convertFloat(x, b.getF32Type()), element);
}

Value Emitter::toI32(Value index) {
  return b.createOrFold<arith::IndexCastOp>(b.getI32Type(), index);
}

Value Emitter::toI64(Value index) {
  return b.createOrFold<arith::IndexCastOp>(b.getI64Type(), index);
}

Value Emitter::toIndex(Value integer) {
  return b.createOrFold<arith::IndexCastOp>(b.getIndexType(), integer);
}

Value Emitter::isValidTime(Value lengths, const Position &at) {
  Value length = emitScalar(lengths, at.leading.front());
  Value time;
  if (at.leading.size() > 1) {
    time = toI32(at.leading[1]);
  } else {
    time = iota(toI32(firstColumn));
    length = splat(length);
  }
  return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, time, length);
}

Value Emitter::whereActive(Value value, double otherwise) {
  if (!mask)
    return value;
  return arith::SelectOp::create(b, mask, value,
                                 constantLike(value, otherwise));
}

Value Emitter::combineLanes(Value value, Combine combine) {
  for (int64_t half = kLanes / 2; half >= 1; half /= 2) {
    auto part = [&](int64_t first) -> Value {
      return vector::ExtractStridedSliceOp::create(
          b, value, ArrayRef<int64_t>{first}, ArrayRef<int64_t>{half},
          ArrayRef<int64_t>{1});
    };
    value = combine(part(0), part(half));
  }
  return vector::ExtractOp::create(b, value, ArrayRef<int64_t>{0});
}

Value Emitter::sumLanes(Value value) {
  return combineLanes(value, [&](Value x, Value y) -> Value {
    return arith::AddFOp::create(b, x, y);
  });
}

} // namespace tts::kernels
