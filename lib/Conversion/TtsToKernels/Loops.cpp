//===- Loops.cpp - the loops that kernels are made of ---------------------===//

#include "Emitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tts::kernels {

/// A stretch of code whose computed values do not outlive it.
class Emitter::Scope {
public:
  enum Kind { Chunk, Everything };

  /// In a `Chunk`, scalars go before `anchor` and stay known afterwards.
  Scope(Emitter &e, Kind kind, Operation *anchor)
      : e(e), kind(kind), savedAnchor(e.anchor), savedColumn(e.firstColumn),
        savedMask(e.mask), savedLanes(std::move(e.lanes)) {
    e.anchor = anchor;
    e.lanes.clear();
    if (kind == Everything)
      savedScalars = e.scalars;
  }
  ~Scope() {
    e.anchor = savedAnchor;
    e.firstColumn = savedColumn;
    e.mask = savedMask;
    e.lanes = std::move(savedLanes);
    if (kind == Everything)
      e.scalars = std::move(savedScalars);
  }

private:
  Emitter &e;
  Kind kind;
  Operation *savedAnchor;
  Value savedColumn, savedMask;
  Memo savedLanes, savedScalars;
};

static Value tailMask(ImplicitLocOpBuilder &b, int64_t active) {
  SmallVector<bool> bits(kLanes, false);
  std::fill_n(bits.begin(), active, true);
  auto type = VectorType::get({kLanes}, b.getI1Type());
  return arith::ConstantOp::create(
      b, cast<TypedAttr>(DenseElementsAttr::get(type, bits)));
}

Emitter::Values
Emitter::loop(Value from, Value to, ValueRange carried,
              llvm::function_ref<Values(Value, ValueRange)> body) {
  auto loop = scf::ForOp::create(b, from, to, index(1), carried);
  Scope scope(*this, Scope::Everything, nullptr);
  // A chunk stays the current one inside.
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Values next = body(loop.getInductionVar(), loop.getRegionIterArgs());
  if (!carried.empty())
    scf::YieldOp::create(b, next);
  return Values(loop.getResults());
}

/// Chunks without a mask, in a loop.
Emitter::Values Emitter::fullChunks(Value from, Value to, ValueRange carried,
                                    Body body) {
  auto loop = scf::ForOp::create(b, from, to, index(kLanes), carried);
  Scope scope(*this, Scope::Chunk, loop);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  firstColumn = loop.getInductionVar();
  mask = nullptr;
  Values next = body(loop.getRegionIterArgs());
  if (!carried.empty())
    scf::YieldOp::create(b, next);
  return Values(loop.getResults());
}

Emitter::Values Emitter::chunks(int64_t columns, ValueRange carried,
                                Body body) {
  int64_t full = columns / kLanes, rest = columns % kLanes;
  Values state(carried);
  ++pass;
  if (full == 1) {
    Scope scope(*this, Scope::Chunk, anchor);
    firstColumn = index(0);
    mask = nullptr;
    state = body(state);
  } else if (full > 1) {
    state = fullChunks(index(0), index(full * kLanes), state, body);
  }
  if (rest) {
    Scope scope(*this, Scope::Chunk, anchor);
    firstColumn = index(full * kLanes);
    mask = tailMask(b, rest);
    state = body(state);
  }
  return state;
}

Emitter::Values Emitter::chunksBetween(Value from, Value to, ValueRange carried,
                                       Body body) {
  Value rest = arith::RemUIOp::create(b, arith::SubIOp::create(b, to, from),
                                      index(kLanes));
  Value full = arith::SubIOp::create(b, to, rest);
  Values state = fullChunks(from, full, carried, body);
  Value isPartial =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ne, rest, index(0));
  auto branch =
      scf::IfOp::create(b, TypeRange(carried), isPartial, !carried.empty());
  Scope scope(*this, Scope::Everything, nullptr);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  firstColumn = full;
  mask = arith::CmpIOp::create(b, arith::CmpIPredicate::slt,
                               iota(integer(b.getI32Type(), 0)),
                               splat(toI32(rest)));
  Values last = body(state);
  if (carried.empty())
    return {};
  scf::YieldOp::create(b, last);
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, state);
  return Values(branch.getResults());
}

Emitter::Values Emitter::choose(Value which, TypeRange types, size_t count,
                                llvm::function_ref<Values(size_t)> each) {
  // Whatever is no case is the last one.
  auto cases = llvm::to_vector(llvm::seq<int64_t>(0, count - 1));
  auto branch = scf::IndexSwitchOp::create(b, types, which, cases, count - 1);
  for (size_t i = 0; i < count; ++i) {
    OpBuilder::InsertionGuard guard(b);
    Region &region =
        i + 1 < count ? branch.getCaseRegions()[i] : branch.getDefaultRegion();
    b.createBlock(&region);
    scf::YieldOp::create(b, each(i));
  }
  return Values(branch.getResults());
}

Emitter::Values Emitter::delinearize(Value linear, ArrayRef<int64_t> shape) {
  Values indices(shape.size());
  for (size_t i = shape.size(); i-- > 0;) {
    Value size = index(shape[i]);
    indices[i] = i == 0 ? linear : b.createOrFold<arith::RemUIOp>(linear, size);
    if (i > 0)
      linear = b.createOrFold<arith::DivUIOp>(linear, size);
  }
  return indices;
}

Position Emitter::rowPosition(Value row, ArrayRef<int64_t> shape) {
  Position at;
  at.leading = delinearize(row, shape.drop_back());
  at.chunk = true;
  at.row = row;
  at.rowSpace = shape;
  return at;
}

void Emitter::rangeOfRows(ArrayRef<int64_t> shape,
                          llvm::function_ref<void(const Position &)> body) {
  range = 1;
  for (int64_t size : shape.drop_back())
    range *= size;
  pass = 0;
  loop(lo, hi, {}, [&](Value row, ValueRange) {
    body(rowPosition(row, shape));
    return Values();
  });
}

void Emitter::rangeOfChunks(int64_t columns, bool hoist,
                            llvm::function_ref<void()> body) {
  int64_t full = columns / kLanes, rest = columns % kLanes;
  range = full + (rest != 0);
  if (full) {
    Value end = b.createOrFold<arith::MinSIOp>(hi, index(full));
    auto loop = scf::ForOp::create(b, lo, end, index(1));
    Scope scope(*this, hoist ? Scope::Chunk : Scope::Everything,
                hoist ? loop.getOperation() : nullptr);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    firstColumn =
        arith::MulIOp::create(b, loop.getInductionVar(), index(kLanes));
    mask = nullptr;
    body();
  }
  if (rest) {
    auto is = [&](arith::CmpIPredicate predicate, Value part) -> Value {
      return arith::CmpIOp::create(b, predicate, part, index(full));
    };
    Value last = arith::AndIOp::create(b, is(arith::CmpIPredicate::sle, lo),
                                       is(arith::CmpIPredicate::sgt, hi));
    auto branch = scf::IfOp::create(b, last, /*withElseRegion=*/false);
    Scope scope(*this, Scope::Everything, nullptr);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    firstColumn = index(full * kLanes);
    mask = tailMask(b, rest);
    body();
  }
}

void Emitter::rangeOfOne(llvm::function_ref<void()> body) {
  range = 1;
  loop(lo, hi, {}, [&](Value, ValueRange) {
    body();
    return Values();
  });
}

} // namespace tts::kernels
