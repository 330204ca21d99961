//===- TtsToKernels.cpp - each kernel's tts ops to loops over its range ---===//

#include "Parts.h"
#include "Rules.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "tts/Conversion/TtsToKernels/Passes.h"
#include "tts/Dialect/Rt/IR/RtDialect.h"
#include "tts/Dialect/Tts/IR/Fusion.h"

using namespace mlir;

namespace tts {
#define GEN_PASS_DEF_TTSTOKERNELSPASS
#include "tts/Conversion/TtsToKernels/Passes.h.inc"

namespace kernels {

const Rules::Map *Rules::findMap(Operation *op) const {
  auto it = maps.find(op->getName().getTypeID());
  return it == maps.end() ? nullptr : &it->second;
}

const Rules::Whole *Rules::findWhole(Operation *op) const {
  auto it = wholes.find(op->getName().getTypeID());
  return it == wholes.end() ? nullptr : &it->second;
}

const Rules::Sum *Rules::findSum(Operation *op) const {
  auto it = sums.find(op->getName().getTypeID());
  return it == sums.end() ? nullptr : &it->second;
}

bool Rules::isFlat(Operation *op) const {
  return flats.contains(op->getName().getTypeID());
}

bool Rules::isExact(Operation *op) const {
  return exacts.contains(op->getName().getTypeID());
}

static bool isRowwise(Operation *op) {
  auto row = dyn_cast_or_null<RowOpInterface>(op);
  return row && row.isRowwise();
}

/// Rewrites one kernel.
class KernelBuilder {
public:
  KernelBuilder(func::FuncOp source, const Rules &rules)
      : source(source), rules(rules), parts(source) {}

  LogicalResult run() {
    if (failed(check()))
      return failure();
    ImplicitLocOpBuilder b(source.getLoc(), source);
    func::FuncOp kernel = makeFunction(b);
    b.setInsertionPointToStart(kernel.addEntryBlock());
    Emitter e(b, rules);
    giveMemory(e, kernel.getArguments());
    if (isRowwise(whole))
      surroundRow(e);
    if (parts.areMany())
      parts.emit(e, rules);
    else if (whole)
      (*rules.findWhole(whole))(whole, e);
    else
      emitMaps(e);
    func::ReturnOp::create(e.builder());
    kernel->setAttr(rt::kRangeAttr, b.getI64IntegerAttr(e.range));
    source.erase();
    return success();
  }

private:
  /// Finds the op that is not a map, if any; refuses what has no rule.
  LogicalResult check();
  LogicalResult checkResults();
  /// Whether a kernel of the op that is no map may return `value`.
  bool canReturn(Value value);
  void surroundRow(Emitter &e);
  /// The argument whose storage result i takes, or nothing.
  std::optional<int64_t> tiedTo(unsigned result) {
    auto attr = source.getResultAttrOfType<IntegerAttr>(result, rt::kTiedAttr);
    return attr ? std::optional(attr.getInt()) : std::nullopt;
  }
  func::FuncOp makeFunction(ImplicitLocOpBuilder &b);
  void giveMemory(Emitter &e, Block::BlockArgListType arguments);
  void emitMaps(Emitter &e);
  Operation *terminator() { return source.front().getTerminator(); }

  func::FuncOp source;
  const Rules &rules;
  Parts parts;
  Operation *whole = nullptr;
};

LogicalResult KernelBuilder::check() {
  for (Type type : llvm::concat<const Type>(source.getArgumentTypes(),
                                            source.getResultTypes())) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !tensor.hasStaticShape())
      return source.emitError("kernel operand of type ")
             << type << " is not a tensor of static shape; specialize first";
  }
  if (parts.areMany())
    return parts.check(rules);
  for (Operation &op : source.front().without_terminator()) {
    if (rules.findMap(&op))
      continue;
    if (!rules.findWhole(&op))
      return op.emitError("no kernel can be made of '")
             << op.getName() << "'; Select must turn it into library calls";
    if (whole)
      return op.emitError("second op of the kernel that is not a map; "
                          "one kernel computes at most one");
    whole = &op;
  }
  return checkResults();
}

bool KernelBuilder::canReturn(Value value) {
  Operation *op = value.getDefiningOp();
  return op == whole ||
         (isRowwise(whole) && op && isElementwise(op) &&
          cast<RankedTensorType>(value.getType()).getShape() ==
              cast<RankedTensorType>(whole->getResult(0).getType()).getShape());
}

LogicalResult KernelBuilder::checkResults() {
  OperandRange returned = terminator()->getOperands();
  for (Value value : returned) {
    if (whole && !canReturn(value))
      return source.emitError("a kernel of '")
             << whole->getName() << "' returns another op's result";
    if (value.getType() != returned[0].getType() && !whole &&
        cast<RankedTensorType>(value.getType()).getShape() !=
            cast<RankedTensorType>(returned[0].getType()).getShape())
      return source.emitError("results of one map kernel differ in shape");
  }
  if (returned.empty())
    return source.emitError("kernel without results; drop it");
  return success();
}

func::FuncOp KernelBuilder::makeFunction(ImplicitLocOpBuilder &b) {
  SmallVector<Type> inputs;
  auto addMemory = [&](Type type) {
    auto tensor = cast<RankedTensorType>(type);
    inputs.push_back(
        MemRefType::get({tensor.getNumElements()}, tensor.getElementType()));
  };
  llvm::for_each(source.getArgumentTypes(), addMemory);
  for (auto [i, type] : llvm::enumerate(source.getResultTypes()))
    if (!tiedTo(i))
      addMemory(type);
  inputs.append(2, b.getIndexType());
  auto kernel =
      func::FuncOp::create(b, source.getName(), b.getFunctionType(inputs, {}));
  kernel->setAttr(rt::kKernelAttr, b.getUnitAttr());
  return kernel;
}

void KernelBuilder::giveMemory(Emitter &e, Block::BlockArgListType arguments) {
  for (BlockArgument argument : source.getArguments())
    e.memoryOfArgument[argument] = arguments[argument.getArgNumber()];
  unsigned next = source.getNumArguments();
  for (OpOperand &returned : terminator()->getOpOperands()) {
    std::optional<int64_t> tied = tiedTo(returned.getOperandNumber());
    Value memory = arguments[tied ? unsigned(*tied) : next++];
    e.outputs.push_back({returned.get(), memory});
  }
  e.lo = arguments.drop_back().back();
  e.hi = arguments.back();
}

/// What is made of the row op's first result follows it; what its operands are
/// made of is computed once and waits in memory that a result will take.
void KernelBuilder::surroundRow(Emitter &e) {
  SetVector<Value> after, rows;
  for (Value value : terminator()->getOperands()) {
    if (value.getDefiningOp() != whole)
      after.insert(value);
    if (value.getDefiningOp() != whole || value == whole->getResult(0))
      rows.insert(value);
  }
  e.continueRow(whole->getResult(0), after.getArrayRef());
  for (unsigned number : cast<RowOpInterface>(whole).getRowOperands()) {
    Value operand = whole->getOperand(number);
    auto it = llvm::find_if(rows, [&](Value result) {
      return result.getType() == operand.getType();
    });
    if (!operand.getDefiningOp() || it == rows.end())
      continue;
    e.keep(operand, *it);
    rows.erase(it);
  }
}

/// All results at one position before any is stored: a result may lie where an
/// operand does.
void KernelBuilder::emitMaps(Emitter &e) {
  SetVector<Value> returned(terminator()->operand_begin(),
                            terminator()->operand_end());
  auto emitAt = [&](const Position &at) {
    SmallVector<Value> computed;
    for (Value value : returned)
      computed.push_back(e.emitLanes(value, at));
    for (auto [value, lanes] : llvm::zip_equal(returned, computed))
      e.store(value, lanes, at);
  };
  auto type = cast<RankedTensorType>(returned.front().getType());
  ArrayRef<int64_t> shape = type.getShape();
  if (shape.empty())
    return e.rangeOfOne([&] { emitAt({}); });
  if (llvm::all_of(returned,
                   [&](Value value) { return e.canFlatten(value); })) {
    Position at;
    at.chunk = at.flat = true;
    return e.rangeOfChunks(type.getNumElements(), /*hoist=*/true,
                           [&] { emitAt(at); });
  }
  e.rangeOfRows(shape, [&](const Position &at) {
    e.chunks(shape.back(), {}, [&](ValueRange) {
      emitAt(at);
      return Emitter::Values();
    });
  });
}

static void populateRules(Rules &rules) {
  populateElementwiseRules(rules);
  populateShapeRules(rules);
  populateDropoutRules(rules);
  populateDrawRules(rules);
  populateDepthwiseRules(rules);
  populateGatherRules(rules);
  populateLossRules(rules);
  populateOptimizerRules(rules);
  populateReductionRules(rules);
  populateNormRules(rules);
  populateBatchNormRules(rules);
  populateSoftmaxRules(rules);
  populateDurationRules(rules);
  populateRotaryRules(rules);
  populateRmsNormRules(rules);
  populateCrossEntropyRules(rules);
}

} // namespace kernels

namespace {
struct TtsToKernelsPass : impl::TtsToKernelsPassBase<TtsToKernelsPass> {
  void runOnOperation() override {
    kernels::Rules rules;
    kernels::populateRules(rules);
    auto functions = getOperation().getOps<func::FuncOp>();
    for (func::FuncOp kernel : llvm::make_early_inc_range(functions)) {
      if (!kernel->hasAttr(rt::kKernelAttr) || kernel->hasAttr(rt::kRangeAttr))
        continue;
      if (failed(kernels::KernelBuilder(kernel, rules).run()))
        return signalPassFailure();
    }
  }
};
} // namespace

} // namespace tts
