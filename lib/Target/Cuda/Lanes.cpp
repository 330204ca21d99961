//===- Lanes.cpp - a kernel's code for one lane of a warp -----------------===//

#include "Lanes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tts/Target/Cuda/Passes.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tts::cuda {

/// Whether a lane can hold its part of a value.
static bool fitsLane(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return !vector || (vector.getRank() == 1 && !vector.isScalable() &&
                     vector.getDimSize(0) <= kWarpLanes);
}

static bool isWarpWide(Type type) {
  return cast<VectorType>(type).getDimSize(0) == kWarpLanes;
}

Lanes::Lanes(ImplicitLocOpBuilder &builder, Value lane, Value lo, Value hi,
             Value task)
    : b(builder), laneIndex(lane), lo(lo), hi(hi), task(task) {
  this->lane = arith::IndexCastOp::create(b, b.getI32Type(), lane);
  Value one = arith::ConstantIndexOp::create(b, 1);
  copies.map(lo, task);
  copies.map(hi, arith::AddIOp::create(b, task, one));
}

Value Lanes::i32(int64_t value) {
  return arith::ConstantIntOp::create(b, value, 32);
}

Value Lanes::isLaneBelow(int64_t end) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, lane, i32(end));
}

//===-- order of memory ---------------------------------------------------===//

void Lanes::meet() {
  NVVM::SyncWarpOp::create(b, i32(-1));
  loaded = stored = false;
}

void Lanes::beforeLoad() {
  if (stored)
    meet();
  loaded = true;
}

void Lanes::beforeStore() {
  if (loaded)
    meet();
  stored = true;
}

void Lanes::enterRegion() {
  if (stored)
    meet();
  loaded = true;
}

void Lanes::leaveRegion() {
  if (stored)
    meet();
  loaded = true;
}

void Lanes::loadLane(Value result, Value memory, Value first, Value mask,
                     Value otherwise) {
  beforeLoad();
  Value index = arith::AddIOp::create(b, first, laneIndex);
  if (!mask) {
    copies.map(result, memref::LoadOp::create(b, memory, index).getResult());
    return;
  }
  auto branch = scf::IfOp::create(b, TypeRange(otherwise.getType()), mask,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, memref::LoadOp::create(b, memory, index).getResult());
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, otherwise);
  copies.map(result, branch.getResult(0));
}

void Lanes::storeLane(Value value, Value memory, Value index, Value condition) {
  beforeStore();
  OpBuilder::InsertionGuard guard(b);
  if (condition) {
    auto branch = scf::IfOp::create(b, condition, /*withElseRegion=*/false);
    b.setInsertionPointToStart(branch.thenBlock());
  }
  memref::StoreOp::create(b, value, memory, index);
}

//===-- lanes that meet ---------------------------------------------------===//

Value Lanes::shuffle(Value value, Value distance, gpu::ShuffleMode mode) {
  Type type = value.getType();
  if (isa<IndexType>(type))
    value = arith::IndexCastOp::create(b, b.getI64Type(), value);
  unsigned bits = value.getType().getIntOrFloatBitWidth();
  if (bits < 32) {
    if (isa<FloatType>(type))
      value = arith::BitcastOp::create(b, b.getIntegerType(bits), value);
    value = arith::ExtUIOp::create(b, b.getI32Type(), value);
  }
  value = gpu::ShuffleOp::create(b, value, distance, i32(kWarpLanes), mode)
              .getResult(0);
  if (bits < 32) {
    value = arith::TruncIOp::create(b, b.getIntegerType(bits), value);
    if (isa<FloatType>(type))
      value = arith::BitcastOp::create(b, type, value);
  }
  if (isa<IndexType>(type))
    value = arith::IndexCastOp::create(b, type, value);
  return value;
}

Value Lanes::interleave(Value even, Value odd) {
  Value half = arith::ShRUIOp::create(b, lane, i32(1));
  Value parity = arith::AndIOp::create(b, lane, i32(1));
  Value isOdd =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ne, parity, i32(0));
  return arith::SelectOp::create(b, isOdd,
                                 shuffle(odd, half, gpu::ShuffleMode::IDX),
                                 shuffle(even, half, gpu::ShuffleMode::IDX));
}

std::pair<Value, Value> Lanes::deinterleave(Value pairs) {
  Value even = arith::ShLIOp::create(b, lane, i32(1));
  Value odd = arith::OrIOp::create(b, even, i32(1));
  return {shuffle(pairs, even, gpu::ShuffleMode::IDX),
          shuffle(pairs, odd, gpu::ShuffleMode::IDX)};
}

/// The step of integers a, a+step, a+2·step, …; nothing for other elements.
static std::optional<APInt> stepOf(DenseElementsAttr elements) {
  if (!isa<IntegerType, IndexType>(elements.getElementType()) ||
      elements.getElementType().isInteger(1) || elements.getNumElements() < 3)
    return std::nullopt;
  auto values = llvm::to_vector(elements.getValues<APInt>());
  APInt step = values[1] - values[0];
  for (size_t i = 2; i < values.size(); ++i)
    if (values[i] - values[i - 1] != step)
      return std::nullopt;
  return step;
}

LogicalResult Lanes::copyConstant(arith::ConstantOp op) {
  auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!elements)
    return copyPlain(*op);
  Type type = elements.getElementType();
  auto constant = [&](Attribute value) -> Value {
    return arith::ConstantOp::create(b, type, cast<TypedAttr>(value));
  };
  auto values = llvm::to_vector(elements.getValues<Attribute>());
  if (std::optional<APInt> step = stepOf(elements)) {
    Value number = isa<IndexType>(type) ? laneIndex : lane;
    if (auto integer = dyn_cast<IntegerType>(type)) {
      if (integer.getWidth() > 32)
        number = arith::ExtUIOp::create(b, type, lane);
      else if (integer.getWidth() < 32)
        number = arith::TruncIOp::create(b, type, lane);
    }
    Value scaled = arith::MulIOp::create(
        b, number, constant(IntegerAttr::get(type, *step)));
    copies.map(
        op.getResult(),
        arith::AddIOp::create(b, scaled, constant(values[0])).getResult());
    return success();
  }
  // Runs of equal elements, of which most constants (masks) have one or two.
  Value value = constant(values.back());
  for (int64_t i = int64_t(values.size()) - 2; i >= 0; --i)
    if (values[i] != values[i + 1])
      value = arith::SelectOp::create(b, isLaneBelow(i + 1),
                                      constant(values[i]), value);
  copies.map(op.getResult(), value);
  return success();
}

LogicalResult Lanes::copyVectorOp(Operation &op) {
  auto refuse = [&](const char *why) {
    return op.emitError("no lane of a warp can compute this: ") << why;
  };
  auto shuffled = [&](Value result, Value from, Value distance,
                      gpu::ShuffleMode mode) {
    copies.map(result, shuffle(of(from), distance, mode));
    return success();
  };
  return TypeSwitch<Operation *, LogicalResult>(&op)
      .Case([&](vector::LoadOp load) {
        if (!isWarpWide(load.getVectorType()))
          return LogicalResult(refuse("a load of other than 32 lanes"));
        loadLane(load, of(load.getBase()), of(load.getIndices()[0]), {}, {});
        return success();
      })
      .Case([&](vector::MaskedLoadOp load) {
        loadLane(load, of(load.getBase()), of(load.getIndices()[0]),
                 of(load.getMask()), of(load.getPassThru()));
        return success();
      })
      .Case([&](vector::StoreOp store) {
        if (!isWarpWide(store.getVectorType()))
          return LogicalResult(refuse("a store of other than 32 lanes"));
        Value index =
            arith::AddIOp::create(b, of(store.getIndices()[0]), laneIndex);
        storeLane(of(store.getValueToStore()), of(store.getBase()), index, {});
        return success();
      })
      .Case([&](vector::MaskedStoreOp store) {
        Value index =
            arith::AddIOp::create(b, of(store.getIndices()[0]), laneIndex);
        storeLane(of(store.getValueToStore()), of(store.getBase()), index,
                  of(store.getMask()));
        return success();
      })
      .Case([&](vector::BroadcastOp broadcast) {
        if (isa<VectorType>(broadcast.getSourceType()))
          return LogicalResult(refuse("a broadcast of a vector"));
        copies.map(broadcast.getResult(), of(broadcast.getSource()));
        return success();
      })
      .Case([&](vector::ExtractStridedSliceOp slice) {
        int64_t first = cast<IntegerAttr>(slice.getOffsets()[0]).getInt();
        if (first == 0) {
          copies.map(slice.getResult(), of(slice.getSource()));
          return success();
        }
        return shuffled(slice, slice.getSource(), i32(first),
                        gpu::ShuffleMode::DOWN);
      })
      .Case([&](vector::ExtractOp extract) {
        OpFoldResult position = extract.getMixedPosition()[0];
        Value from;
        if (auto value = dyn_cast<Value>(position))
          from = arith::IndexCastOp::create(b, b.getI32Type(), of(value));
        else
          from = i32(cast<IntegerAttr>(cast<Attribute>(position)).getInt());
        return shuffled(extract, extract.getSource(), from,
                        gpu::ShuffleMode::IDX);
      })
      .Case([&](vector::ConstantMaskOp op) {
        copies.map(op.getResult(), isLaneBelow(op.getMaskDimSizes()[0]));
        return success();
      })
      .Case([&](vector::InterleaveOp op) {
        copies.map(op.getResult(),
                   interleave(of(op.getLhs()), of(op.getRhs())));
        return success();
      })
      .Case([&](vector::DeinterleaveOp op) {
        auto [even, odd] = deinterleave(of(op.getSource()));
        copies.map(op.getRes1(), even);
        copies.map(op.getRes2(), odd);
        return success();
      })
      .Default([&](Operation *) {
        return LogicalResult(refuse("an op of vectors without a rule"));
      });
}

//===-- code --------------------------------------------------------------===//

/// The results of a copy become one lane's: a part of a vector; memory is
/// everyone's.
static void holdLanes(Operation *copy) {
  for (Value result : copy->getResults())
    if (isa<VectorType>(result.getType()))
      result.setType(getElementTypeOrSelf(result));
}

LogicalResult Lanes::copyPlain(Operation &op) {
  holdLanes(b.clone(op, copies));
  return success();
}

bool Lanes::isRangeLoop(scf::ForOp op) const {
  if (op.getLowerBound() != lo || !op.getInitArgs().empty() ||
      !matchPattern(op.getStep(), m_One()))
    return false;
  auto end = op.getUpperBound().getDefiningOp<arith::MinSIOp>();
  return op.getUpperBound() == hi ||
         (end && llvm::is_contained(end->getOperands(), hi));
}

LogicalResult Lanes::copyRangeLoop(scf::ForOp op) {
  copies.map(op.getInductionVar(), task);
  if (op.getUpperBound() == hi)
    return copy(*op.getBody());
  Value isBelow = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, task,
                                        of(op.getUpperBound()));
  auto branch = scf::IfOp::create(b, isBelow, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  return copy(*op.getBody());
}

LogicalResult Lanes::copyRegion(Block &from, Block *to) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(to);
  enterRegion();
  if (failed(copy(from)))
    return failure();
  leaveRegion();
  SmallVector<Value> results;
  for (Value value : from.getTerminator()->getOperands())
    results.push_back(of(value));
  // scf.for makes the terminator itself where there is nothing to yield.
  if (!to->mightHaveTerminator())
    scf::YieldOp::create(b, results);
  return success();
}

LogicalResult Lanes::copyLoop(scf::ForOp op) {
  if (isRangeLoop(op))
    return copyRangeLoop(op);
  enterRegion();
  SmallVector<Value> inits;
  for (Value init : op.getInitArgs())
    inits.push_back(of(init));
  auto loop =
      scf::ForOp::create(b, of(op.getLowerBound()), of(op.getUpperBound()),
                         of(op.getStep()), inits);
  copies.map(op.getBody()->getArguments(), loop.getBody()->getArguments());
  copies.map(op.getResults(), loop.getResults());
  return copyRegion(*op.getBody(), loop.getBody());
}

LogicalResult Lanes::copyBranch(Operation &op) {
  enterRegion();
  Operation *copy = b.cloneWithoutRegions(op, copies);
  holdLanes(copy);
  for (auto [from, to] : llvm::zip_equal(op.getRegions(), copy->getRegions()))
    if (!from.empty() && failed(copyRegion(from.front(), &to.emplaceBlock())))
      return failure();
  return success();
}

LogicalResult Lanes::copyOp(Operation &op) {
  b.setLoc(op.getLoc());
  for (Type type :
       llvm::concat<const Type>(op.getOperandTypes(), op.getResultTypes()))
    if (!fitsLane(type))
      return op.emitError("no lane of a warp can hold its part of ") << type;
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return copyLoop(loop);
  if (isa<scf::IfOp, scf::IndexSwitchOp>(op))
    return copyBranch(op);
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return copyConstant(constant);
  if (isa<memref::LoadOp>(op)) {
    beforeLoad();
    return copyPlain(op);
  }
  if (auto store = dyn_cast<memref::StoreOp>(op)) {
    storeLane(of(store.getValue()), of(store.getMemref()),
              of(store.getIndices()[0]), isLaneBelow(1));
    return success();
  }
  if (isa<vector::VectorDialect>(op.getDialect()))
    return copyVectorOp(op);
  if (op.getNumRegions() || !isMemoryEffectFree(&op))
    return op.emitError("no lane of a warp can compute this");
  bool hasVectors =
      llvm::any_of(op.getOperandTypes(), llvm::IsaPred<VectorType>);
  if (hasVectors && !OpTrait::hasElementwiseMappableTraits(&op))
    return op.emitError("no lane of a warp can compute this: lanes meet in it");
  return copyPlain(op);
}

LogicalResult Lanes::copy(Block &block) {
  for (Operation &op : block.without_terminator())
    if (failed(copyOp(op)))
      return failure();
  return success();
}

} // namespace tts::cuda
