//===- CrossEntropy.cpp - rules of cross entropy over rows of logits ------===//

#include "Rules.h"
#include "Sums.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"
#include <limits>

using namespace mlir;

namespace tts::kernels {

/// Whether ids name a class: a negative one is a large one.
static Value isClass(Emitter &e, Value ids, int64_t classes) {
  return arith::CmpIOp::create(e.builder(), arith::CmpIPredicate::ult, ids,
                               e.integer(ids.getType(), classes));
}

/// Whether targets [batch, time] count.
template <typename OpT>
static Value countsAt(OpT op, Emitter &e, const Position &at, Value targets) {
  ImplicitLocOpBuilder &b = e.builder();
  Value told =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ne, targets,
                            e.integer(targets.getType(), op.getIgnoreIndex()));
  Value counts =
      arith::AndIOp::create(b, told, isClass(e, targets, op.getClasses()));
  return arith::AndIOp::create(b, counts, e.isValidTime(op.getLengths(), at));
}

static Value targetRows(TargetRowsOp op, Emitter &e, const Position &at) {
  Value targets = e.emit(op.getTargets(), at);
  return arith::SelectOp::create(e.builder(), countsAt(op, e, at, targets),
                                 targets, e.integer(targets.getType(), -1));
}

/// Ones are added: exact up to 2^24 of them.
static void countTargets(CountTargetsOp op, Emitter &e) {
  auto type = op.getTargets().getType();
  Type element = op.getN().getType().getElementType();
  auto lanes = VectorType::get({kLanes}, element);
  e.rangeOfOne([&] {
    Value n = sumAll(e, type.getShape(), /*flat=*/false, element,
                     [&](const Position &at) -> Value {
                       Value targets = e.emitLanes(op.getTargets(), at);
                       return arith::SelectOp::create(
                           e.builder(), countsAt(op, e, at, targets),
                           e.constant(lanes, 1), e.constant(lanes, 0));
                     });
    e.store(op.getN(), n, {});
  });
}

static Value larger(Emitter &e, Value x, Value y) {
  Value is =
      arith::CmpFOp::create(e.builder(), arith::CmpFPredicate::OGT, x, y);
  return arith::SelectOp::create(e.builder(), is, x, y);
}

/// ln Σ e^l of a row, the largest logit taken out of the exponentials.
static Value logSumExp(Emitter &e, Value logits, Type element,
                       const Position &at) {
  ImplicitLocOpBuilder &b = e.builder();
  int64_t columns = cast<RankedTensorType>(logits.getType()).getDimSize(1);
  auto row = [&] { return e.convertFloat(e.emitLanes(logits, at), element); };
  double lowest = -std::numeric_limits<double>::infinity();
  Value low = e.constant(VectorType::get({kLanes}, element), lowest);
  Value highest = e.chunks(columns, low, [&](ValueRange so_far) {
                     Value lanes = e.whereActive(row(), lowest);
                     return Emitter::Values{larger(e, lanes, so_far[0])};
                   }).front();
  highest = e.combineLanes(highest,
                           [&](Value x, Value y) { return larger(e, x, y); });
  Value sum = sumRow(e, columns, element, 1, [&]() -> Emitter::Values {
                Value shifted =
                    arith::SubFOp::create(b, row(), e.splat(highest));
                return {math::ExpOp::create(b, shifted)};
              }).front();
  return arith::AddFOp::create(b, highest, math::LogOp::create(b, sum));
}

static void rowCrossEntropy(RowCrossEntropyOp op, Emitter &e) {
  ImplicitLocOpBuilder &b = e.builder();
  auto type = op.getLogits().getType();
  Type element = op.getLse().getType().getElementType();
  e.rangeOfRows(type.getShape(), [&](const Position &at) {
    Position to;
    to.leading.push_back(e.offset(e.index(op.getFirstRow()), at.leading[0], 1));
    Value target = e.emit(op.getTargets(), to);
    Value counts = isClass(e, target, type.getDimSize(1));
    Value none = e.integer(target.getType(), 0);
    Value index = arith::SelectOp::create(b, counts, target, none);
    Value lse = logSumExp(e, op.getLogits(), element, at);
    Value logit = e.convertFloat(
        e.emitScalar(op.getLogits(), {at.leading[0], e.toIndex(index)}),
        element);
    Value loss = arith::SubFOp::create(b, lse, logit),
          zero = e.constant(element, 0);
    e.store(op.getNewLosses(), arith::SelectOp::create(b, counts, loss, zero),
            to);
    e.store(op.getNewLse(), arith::SelectOp::create(b, counts, lse, zero), to);
  });
}

/// A select, not a product: a row that counts nothing becomes 0 whatever it
/// holds.
static Value rowCrossEntropyGrad(RowCrossEntropyGradOp op, Emitter &e,
                                 const Position &at) {
  ImplicitLocOpBuilder &b = e.builder();
  Value row = at.leading[0];
  Value target = e.emitScalar(op.getTargets(), row);
  Type element = op.getLse().getType().getElementType();
  auto type = op.getLogits().getType();
  Value logit = e.convertFloat(e.emit(op.getLogits(), at), element);
  Value counts = isClass(e, target, type.getDimSize(1));
  Value lse = e.emitScalar(op.getLse(), row);
  Value dsum = e.convertFloat(e.emitScalar(op.getDsum(), {}), element);
  Value column =
      at.chunk ? e.iota(e.toI32(e.column())) : e.toI32(at.leading[1]);
  Value is = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, column,
                                   e.shapedLike(target, column));
  Value share = math::ExpOp::create(
      b, arith::SubFOp::create(b, logit, e.shapedLike(lse, logit)));
  Value one = e.constantLike(logit, 1), zero = e.constantLike(logit, 0);
  Value slope = arith::SubFOp::create(
      b, share, arith::SelectOp::create(b, is, one, zero));
  slope = arith::MulFOp::create(b, e.shapedLike(dsum, slope), slope);
  slope = arith::SelectOp::create(b, e.shapedLike(counts, slope), slope, zero);
  return e.convertFloat(slope, type.getElementType());
}

void populateCrossEntropyRules(Rules &rules) {
  rules.map<TargetRowsOp>(targetRows);
  rules.whole<CountTargetsOp>(countTargets);
  rules.whole<RowCrossEntropyOp>(rowCrossEntropy);
  rules.map<RowCrossEntropyGradOp>(rowCrossEntropyGrad);
}

} // namespace tts::kernels
