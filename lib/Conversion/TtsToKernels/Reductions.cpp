//===- Reductions.cpp - rules of sums and counts --------------------------===//

#include "Rules.h"
#include "Sums.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"

using namespace mlir;

namespace tts::kernels {

/// acc + value, or the value where the op has no accumulator.
static Value accumulated(Emitter &e, Value acc, Value value,
                         const Position &at) {
  if (!acc)
    return value;
  Value old = e.shapedLike(e.emit(acc, at), value);
  return arith::AddFOp::create(e.builder(), old, value);
}

/// One number in one task.
static void reduceAll(Emitter &e, Value x, Value acc, Value result, Term term) {
  auto type = cast<RankedTensorType>(x.getType());
  e.rangeOfOne([&] {
    Value sum = sumAll(e, type.getShape(), e.canFlatten(x),
                       type.getElementType(), term);
    e.store(result, accumulated(e, acc, sum, {}), {});
  });
}

/// One number per index of the leading dimensions that are kept.
static void reduceTrailing(SumToOp op, Emitter &e) {
  auto type = cast<RankedTensorType>(op.getX().getType());
  ArrayRef<int64_t> shape = type.getShape();
  size_t kept = op.getDims().size();
  int64_t rowsEach =
      ShapedType::getNumElements(shape.drop_front(kept).drop_back());
  e.range = ShapedType::getNumElements(shape.take_front(kept));
  e.loop(e.lo, e.hi, {}, [&](Value number, ValueRange) {
    Value sum = sumRows(e, e.offset({}, number, rowsEach), rowsEach, shape,
                        type.getElementType(), [&](const Position &at) {
                          return e.emit(op.getX(), at);
                        });
    Position at;
    at.leading = e.delinearize(number, shape.take_front(kept));
    e.store(op.getY(), accumulated(e, op.getAcc(), sum, at), at);
    return Emitter::Values();
  });
}

/// One number per column.
static void reduceLeading(SumToOp op, Emitter &e) {
  auto type = cast<RankedTensorType>(op.getX().getType());
  e.rangeOfChunks(type.getShape().back(), /*hoist=*/false, [&] {
    Value sum =
        sumColumns(e, type.getShape(), type.getElementType(),
                   [&](const Position &at) { return e.emit(op.getX(), at); });
    Position at;
    at.chunk = true;
    e.store(op.getY(), accumulated(e, op.getAcc(), sum, at), at);
  });
}

/// Nothing is summed: every dimension is kept.
static void copyAll(SumToOp op, Emitter &e) {
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(op.getX().getType()).getShape();
  e.rangeOfRows(shape, [&](const Position &at) {
    e.chunks(shape.back(), {}, [&](ValueRange) {
      Value x = e.emitLanes(op.getX(), at);
      e.store(op.getY(), accumulated(e, op.getAcc(), x, at), at);
      return Emitter::Values();
    });
  });
}

static void sumTo(SumToOp op, Emitter &e) {
  int64_t rank = cast<RankedTensorType>(op.getX().getType()).getRank();
  ArrayRef<int64_t> dims = op.getDims();
  if (dims.empty())
    return reduceAll(e, op.getX(), op.getAcc(), op.getY(),
                     [&](const Position &at) { return e.emit(op.getX(), at); });
  if (int64_t(dims.size()) == rank)
    return copyAll(op, e);
  if (dims.front() == rank - 1)
    return reduceLeading(op, e);
  reduceTrailing(op, e);
}

static void sumSquares(SumSquaresOp op, Emitter &e) {
  reduceAll(e, op.getX(), op.getAcc(), op.getY(),
            [&](const Position &at) -> Value {
              Value x = e.emit(op.getX(), at);
              return arith::MulFOp::create(e.builder(), x, x);
            });
}

/// Exact in integers, then converted once.
static Value count(CountOp op, Emitter &e, const Position &) {
  ImplicitLocOpBuilder &b = e.builder();
  int64_t batch =
      cast<RankedTensorType>(op.getLengths().getType()).getDimSize(0);
  Value zero = e.integer(b.getI64Type(), 0);
  Value total =
      e.loop(e.index(0), e.index(batch), zero,
             [&](Value i, ValueRange so_far) -> Emitter::Values {
               Value length = arith::ExtSIOp::create(
                   b, b.getI64Type(), e.emitScalar(op.getLengths(), i));
               return {arith::AddIOp::create(b, so_far[0], length)};
             })
          .front();
  Type element = cast<RankedTensorType>(op.getN().getType()).getElementType();
  Value n = arith::SIToFPOp::create(b, element, total);
  return arith::MulFOp::create(
      b, e.constant(element, op.getPer().convertToDouble()), n);
}

void populateReductionRules(Rules &rules) {
  rules.whole<SumToOp>(sumTo);
  rules.whole<SumSquaresOp>(sumSquares);
  rules.flatMap<CountOp>(count);
}

} // namespace tts::kernels
