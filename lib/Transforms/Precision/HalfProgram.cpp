//===- HalfProgram.cpp - one program in mixed precision -------------------===//

#include "HalfProgram.h"
#include "tts/Dialect/Tts/IR/Names.h"

using namespace mlir;
using namespace tts;
using namespace tts::precision;

static bool isHalf(Value value) {
  Type element = getElementTypeOrSelf(value.getType());
  return element.isBF16() || element.isF16();
}

static bool isFloat(Value value) {
  return isa<FloatType>(getElementTypeOrSelf(value.getType()));
}

static Type withElement(Type type, Type element) {
  return llvm::cast<RankedTensorType>(type).clone(element);
}

static Precision operandPrecision(PrecisionOpInterface rules, unsigned number) {
  return rules ? rules.getOperandPrecision(number) : Precision::Full;
}

HalfProgram::HalfProgram(func::FuncOp program, FloatType half,
                         const llvm::StringSet<> &copies)
    : program(program), half(half), copies(copies) {}

StringAttr HalfProgram::getParameterName(Value value) const {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument ? program.getArgAttrOfType<StringAttr>(
                        argument.getArgNumber(), kParamAttr)
                  : StringAttr();
}

void HalfProgram::setHalf(Value value) {
  value.setType(withElement(value.getType(), half));
}

HalfProgram::Followed HalfProgram::getFollowed(Operation *op) const {
  auto rules = llvm::cast<PrecisionOpInterface>(op);
  bool anyHalf = false;
  for (OpOperand &operand : op->getOpOperands()) {
    Value value = operand.get();
    if (!isFloat(value) ||
        rules.getOperandPrecision(operand.getOperandNumber()) !=
            Precision::Follows)
      continue;
    if (isHalf(value))
      anyHalf = true;
    else if (!isWeak(value))
      return Followed::Full;
  }
  return anyHalf ? Followed::Half : Followed::Weak;
}

void HalfProgram::rewrite(Operation *op, const Wishes &wishes) {
  auto rules = dyn_cast<PrecisionOpInterface>(op);
  Followed followed = rules ? getFollowed(op) : Followed::Full;
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isFloat(operand.get()))
      continue;
    Precision wanted = operandPrecision(rules, operand.getOperandNumber());
    if (wanted == Precision::Either)
      continue;
    bool narrow = wanted == Precision::Half ||
                  (wanted == Precision::Follows && followed == Followed::Half);
    operand.set(narrow ? toHalf(operand.get()) : toFull(operand.get()));
  }
  for (OpResult result : op->getResults()) {
    if (!rules || !isFloat(result))
      continue;
    switch (rules.getResultPrecision(result.getResultNumber())) {
    case Precision::Full:
      break;
    case Precision::Half:
      setHalf(result);
      break;
    case Precision::Either:
      if (!wishes.wantsFull(result))
        setHalf(result);
      break;
    case Precision::Follows:
      if (followed == Followed::Half)
        setHalf(result);
      else if (followed == Followed::Weak)
        weak.insert(result);
      break;
    }
  }
}

void HalfProgram::rewrite(const Wishes &wishes) {
  Block &body = program.getBody().front();
  for (Operation &op : llvm::make_early_inc_range(body.without_terminator()))
    rewrite(&op, wishes);
  for (OpOperand &operand : getTerminator()->getOpOperands())
    if (isFloat(operand.get()) &&
        !program.getResultAttr(operand.getOperandNumber(), kStashAttr))
      operand.set(toFull(operand.get()));
}

Value HalfProgram::cast(Value value, Type element) {
  OpBuilder builder(program.getContext());
  builder.setInsertionPointAfterValue(value);
  std::string name =
      getStableName(value.getLoc()) + (element == half ? ".half" : ".full");
  Location loc = NameLoc::get(builder.getStringAttr(name), value.getLoc());
  return CastOp::create(builder, loc, withElement(value.getType(), element),
                        value);
}

Value HalfProgram::toFull(Value value) {
  if (!isHalf(value))
    return value;
  Value &full = fulls[value];
  if (!full) {
    full = cast(value, Float32Type::get(program.getContext()));
    halves[full] = value;
  }
  return full;
}

Value HalfProgram::toHalf(Value value) {
  if (isHalf(value))
    return value;
  if (Value known = halves.lookup(value))
    return known;
  Value made = makeHalf(value);
  halves[value] = made;
  return made;
}

Value HalfProgram::makeHalf(Value value) {
  if (StringAttr name = getParameterName(value)) {
    halfParameters.insert(name);
    if (!copies.contains(name))
      return cast(value, half);
    OpBuilder builder(program.getContext());
    unsigned index = program.getNumArguments();
    auto role =
        builder.getDictionaryAttr(builder.getNamedAttr(kHalfCopyAttr, name));
    LogicalResult inserted = program.insertArgument(
        index, withElement(value.getType(), half), role, value.getLoc());
    assert(succeeded(inserted));
    (void)inserted;
    return program.getArgument(index);
  }
  // Another way to index is chosen after rounding, which touches fewer numbers.
  Operation *op = value.getDefiningOp();
  if (op && op->hasTrait<Indexing>() && isWeak(value)) {
    OpBuilder builder(program.getContext());
    builder.setInsertionPointAfter(op);
    Operation *copy = builder.clone(*op);
    for (OpOperand &operand : copy->getOpOperands())
      operand.set(toHalf(operand.get()));
    setHalf(copy->getResult(0));
    return copy->getResult(0);
  }
  return cast(value, half);
}

void HalfProgram::finish() {
  Block &body = program.getBody().front();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (isOpTriviallyDead(&op))
      op.erase();
  program.setType(FunctionType::get(program.getContext(),
                                    body.getArgumentTypes(),
                                    getTerminator()->getOperandTypes()));
  llvm::BitVector unused(program.getNumArguments());
  for (BlockArgument argument : program.getArguments())
    if (argument.use_empty() && getParameterName(argument))
      unused.set(argument.getArgNumber());
  LogicalResult erased = program.eraseArguments(unused);
  assert(succeeded(erased));
  (void)erased;
}
