//===- Reductions.cpp - rules of sums and counts --------------------------===//

#include "Rules.h"
#include "Sums.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
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
    Value sum =
        sumAll(e, type.getShape(), e.canFlatten(x), e.computeTypeOf(x), term);
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
                        e.computeTypeOf(op.getX()), [&](const Position &at) {
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
        sumColumns(e, type.getShape(), e.computeTypeOf(op.getX()),
                   [&](const Position &at) { return e.emit(op.getX(), at); });
    Position at;
    at.chunk = true;
    e.store(op.getY(), accumulated(e, op.getAcc(), sum, at), at);
  });
}

/// Σ over the time steps of one utterance, at the current chunk of channels.
static Value sumTime(Emitter &e, RankedTensorType type, Value batch,
                     Term term) {
  int64_t shape[] = {type.getDimSize(1), type.getDimSize(2)};
  Type element = e.computeType(type.getElementType());
  return sumColumns(e, shape, element, [&](const Position &row) {
    Position at;
    at.leading = {batch, row.leading.front()};
    at.chunk = true;
    return term(at);
  });
}

/// A task per chunk of channels: `each` gets every utterance's [channel] row of
/// a [batch, channel] result.
static void
forUtterances(Emitter &e, RankedTensorType type,
              llvm::function_ref<void(Value batch, const Position &)> each) {
  e.rangeOfChunks(type.getDimSize(2), /*hoist=*/false, [&] {
    e.loop(e.index(0), e.index(type.getDimSize(0)), {},
           [&](Value batch, ValueRange) {
             Position at;
             at.leading = {batch};
             at.chunk = true;
             each(batch, at);
             return Emitter::Values();
           });
  });
}

/// One number per utterance and channel.
static void reduceTime(SumToOp op, Emitter &e) {
  auto type = cast<RankedTensorType>(op.getX().getType());
  forUtterances(e, type, [&](Value batch, const Position &at) {
    Value sum = sumTime(e, type, batch, [&](const Position &step) {
      return e.emit(op.getX(), step);
    });
    e.store(op.getY(), accumulated(e, op.getAcc(), sum, at), at);
  });
}

static void timeNorm(TimeNormOp op, Emitter &e) {
  ImplicitLocOpBuilder &b = e.builder();
  auto type = cast<RankedTensorType>(op.getX().getType());
  forUtterances(e, type, [&](Value batch, const Position &at) {
    Value squares = sumTime(e, type, batch, [&](const Position &step) -> Value {
      Value x = e.emit(op.getX(), step);
      return arith::MulFOp::create(b, x, x);
    });
    e.store(op.getN(), math::SqrtOp::create(b, squares), at);
  });
}

static Value timeNormGrad(TimeNormGradOp op, Emitter &e, const Position &at) {
  ImplicitLocOpBuilder &b = e.builder();
  Position channel;
  channel.leading = {at.leading.front()};
  channel.chunk = at.chunk;
  if (!at.chunk)
    channel.leading.push_back(at.leading.back());
  Value n = e.emit(op.getN(), channel), dn = e.emit(op.getDn(), channel);
  Value zero = e.constantLike(n, 0);
  Value isPositive =
      arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, n, zero);
  Value share = arith::SelectOp::create(b, isPositive,
                                        arith::DivFOp::create(b, dn, n), zero);
  Value x = e.emit(op.getX(), at);
  return arith::MulFOp::create(b, x, share);
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
  if (int64_t(dims.back()) != int64_t(dims.size()) - 1)
    return reduceTime(op, e);
  reduceTrailing(op, e);
}

static Value square(SumSquaresOp op, Emitter &e, const Position &at) {
  Value x = e.emit(op.getX(), at);
  return arith::MulFOp::create(e.builder(), x, x);
}

static void sumSquares(SumSquaresOp op, Emitter &e) {
  reduceAll(e, op.getX(), op.getAcc(), op.getY(),
            [&](const Position &at) { return square(op, e, at); });
}

static Value sumManySquares(SumSquaresOp op, Emitter &e, Value elements) {
  Value sum =
      sumElements(e, elements, e.computeTypeOf(op.getX()),
                  [&](const Position &at) { return square(op, e, at); });
  return accumulated(e, op.getAcc(), sum, {});
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
  rules.whole<TimeNormOp>(timeNorm);
  rules.map<TimeNormGradOp>(timeNormGrad);
  rules.whole<SumSquaresOp>(sumSquares);
  rules.sum<SumSquaresOp>(sumManySquares);
  rules.flatMap<CountOp>(count);
}

} // namespace tts::kernels
