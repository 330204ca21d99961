//===- Depthwise.cpp - rules of convolutions per channel, and padding -----===//

#include "Rules.h"
#include "Sums.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"

using namespace mlir;

namespace tts::kernels {

static Position at(ArrayRef<Value> leading) {
  Position position;
  position.leading.assign(leading.begin(), leading.end());
  position.chunk = true;
  return position;
}

/// Every tap that reaches the sequence, in order, at one time step.
static void depthwiseConv1d(DepthwiseConv1dOp op, Emitter &e) {
  ImplicitLocOpBuilder &b = e.builder();
  auto type = cast<RankedTensorType>(op.getX().getType());
  int64_t time = type.getDimSize(1), channels = type.getDimSize(2);
  int64_t taps = cast<RankedTensorType>(op.getW().getType()).getDimSize(0);
  int64_t left = op.getLeft();
  auto sub = [&](Value x, Value y) -> Value {
    return arith::SubIOp::create(b, x, y);
  };
  e.rangeOfRows(type.getShape(), [&](const Position &row) {
    Value batch = row.leading[0], t = row.leading[1];
    // Tap j reads step t + j - left, or t - j + left: from the first step that
    // exists to behind the last one.
    Value from = op.getTransposed() ? sub(t, e.index(time - 1 - left))
                                    : sub(e.index(left), t);
    Value to = op.getTransposed()
                   ? arith::AddIOp::create(b, t, e.index(left + 1))
                   : sub(e.index(time + left), t);
    from = arith::MaxSIOp::create(b, from, e.index(0));
    to = arith::MinSIOp::create(b, to, e.index(taps));
    e.chunks(channels, {}, [&](ValueRange) {
      Value zero = e.splat(e.constant(type.getElementType(), 0));
      auto add = [&](Value tap, ValueRange so_far) -> Emitter::Values {
        Value forth = sub(tap, e.index(left));
        Value step = op.getTransposed()
                         ? sub(t, forth)
                         : arith::AddIOp::create(b, t, forth).getResult();
        Value product =
            arith::MulFOp::create(b, e.emitLanes(op.getX(), at({batch, step})),
                                  e.emitLanes(op.getW(), at({tap})));
        return {arith::AddFOp::create(b, so_far[0], product)};
      };
      e.store(op.getY(), e.loop(from, to, zero, add).front(), row);
      return Emitter::Values();
    });
  });
}

/// A task per chunk of channels, tap after tap.
static void filterGrad(DepthwiseConv1dFilterGradOp op, Emitter &e) {
  ImplicitLocOpBuilder &b = e.builder();
  auto type = cast<RankedTensorType>(op.getX().getType());
  int64_t time = type.getDimSize(1);
  int64_t taps = cast<RankedTensorType>(op.getDw().getType()).getDimSize(0);
  auto sumOfTap = [&](Value tap) {
    return sumColumns(
        e, type.getShape(), type.getElementType(),
        [&](const Position &row) -> Value {
          Value step = arith::AddIOp::create(
              b, row.leading[1],
              arith::SubIOp::create(b, tap, e.index(op.getLeft())));
          // A step before the first is a large unsigned one.
          Value exists = arith::CmpIOp::create(b, arith::CmpIPredicate::ult,
                                               step, e.index(time));
          Value safe = arith::SelectOp::create(b, exists, step, e.index(0));
          Value product = arith::MulFOp::create(
              b, e.emitLanes(op.getX(), at({row.leading[0], safe})),
              e.emitLanes(op.getDy(), row));
          return arith::SelectOp::create(b, exists, product,
                                         e.constantLike(product, 0));
        });
  };
  e.rangeOfChunks(type.getDimSize(2), /*hoist=*/false, [&] {
    e.loop(e.index(0), e.index(taps), {}, [&](Value tap, ValueRange) {
      Value sum = sumOfTap(tap);
      if (op.getAcc())
        sum =
            arith::AddFOp::create(b, e.emitLanes(op.getAcc(), at({tap})), sum);
      e.store(op.getDw(), sum, at({tap}));
      return Emitter::Values();
    });
  });
}

static Value padTime(PadTimeOp op, Emitter &e, const Position &place) {
  ImplicitLocOpBuilder &b = e.builder();
  int64_t time = cast<RankedTensorType>(op.getX().getType()).getDimSize(1);
  Value step =
      arith::SubIOp::create(b, place.leading[1], e.index(op.getLeft()));
  // A step before the first is a large unsigned one.
  Value exists =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ult, step, e.index(time));
  Position from;
  from.leading.assign(place.leading.begin(), place.leading.end());
  from.leading[1] = arith::SelectOp::create(b, exists, step, e.index(0));
  from.chunk = place.chunk;
  Value x = e.emit(op.getX(), from);
  return arith::SelectOp::create(b, exists, x, e.constantLike(x, 0));
}

static Value unpadTime(UnpadTimeOp op, Emitter &e, const Position &place) {
  Position from;
  from.leading.push_back(
      e.offset(place.leading[1], place.leading[0], op.getPeriod()));
  from.chunk = place.chunk;
  if (!place.chunk)
    from.leading.push_back(place.leading[2]);
  return e.emit(op.getX(), from);
}

void populateDepthwiseRules(Rules &rules) {
  rules.map<PadTimeOp>(padTime);
  rules.map<UnpadTimeOp>(unpadTime);
  rules.whole<DepthwiseConv1dOp>(depthwiseConv1d);
  rules.whole<DepthwiseConv1dFilterGradOp>(filterGrad);
}

} // namespace tts::kernels
