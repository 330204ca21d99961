//===- Losses.cpp - rules of masked losses and their gradients ------------===//

#include "Rules.h"
#include "Sums.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"

using namespace mlir;

namespace tts::kernels {

template <typename OpT>
static Value difference(OpT op, Emitter &e, const Position &at) {
  Value prediction = e.emitLanes(op.getPrediction(), at);
  Value target = e.emitLanes(op.getTarget(), at);
  return arith::SubFOp::create(e.builder(), prediction, target);
}

/// `value` at valid time steps, else exactly 0.
static Value whereValid(Emitter &e, Value lengths, const Position &at,
                        Value value) {
  Value valid = e.isValidTime(lengths, at);
  return arith::SelectOp::create(e.builder(), valid, value,
                                 e.constantLike(value, 0));
}

/// Registers a loss: Σ over valid steps of `each(difference)`.
template <typename OpT, typename Fn> static void loss(Rules &rules, Fn each) {
  rules.whole<OpT>([each](OpT op, Emitter &e) {
    auto type = cast<RankedTensorType>(op.getPrediction().getType());
    e.rangeOfOne([&] {
      Value sum = sumAll(e, type.getShape(), /*flat=*/false,
                         type.getElementType(), [&](const Position &at) {
                           return whereValid(e, op.getLengths(), at,
                                             each(e, difference(op, e, at)));
                         });
      Type element =
          cast<RankedTensorType>(op.getSum().getType()).getElementType();
      e.store(op.getSum(), e.convertFloat(sum, element), {});
    });
  });
}

/// Registers a loss's gradient: dsum · `each(difference)` where valid.
template <typename OpT, typename Fn>
static void lossGrad(Rules &rules, Fn each) {
  rules.map<OpT>([each](OpT op, Emitter &e, const Position &at) {
    Value slope = each(e, difference(op, e, at));
    Value dsum = e.convertFloat(e.emitScalar(op.getDsum(), {}),
                                getElementTypeOrSelf(slope));
    Value gradient =
        arith::MulFOp::create(e.builder(), e.shapedLike(dsum, slope), slope);
    return whereValid(e, op.getLengths(), at, gradient);
  });
}

static Value signOf(Emitter &e, Value x) {
  ImplicitLocOpBuilder &b = e.builder();
  Value zero = e.constantLike(x, 0);
  auto where = [&](arith::CmpFPredicate predicate, double then,
                   Value otherwise) {
    Value is = arith::CmpFOp::create(b, predicate, x, zero);
    return arith::SelectOp::create(b, is, e.constantLike(x, then), otherwise);
  };
  return where(arith::CmpFPredicate::OGT, 1,
               where(arith::CmpFPredicate::OLT, -1, zero));
}

void populateLossRules(Rules &rules) {
  loss<L1LossOp>(rules, [](Emitter &e, Value x) -> Value {
    return math::AbsFOp::create(e.builder(), x);
  });
  loss<MseLossOp>(rules, [](Emitter &e, Value x) -> Value {
    return arith::MulFOp::create(e.builder(), x, x);
  });
  lossGrad<L1LossGradOp>(rules, signOf);
  lossGrad<MseLossGradOp>(rules, [](Emitter &e, Value x) -> Value {
    return arith::MulFOp::create(e.builder(), e.constantLike(x, 2), x);
  });
}

} // namespace tts::kernels
