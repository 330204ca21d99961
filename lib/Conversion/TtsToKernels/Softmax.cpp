//===- Softmax.cpp - rules of softmax over valid keys ---------------------===//

#include "Rules.h"
#include "Sums.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"
#include <limits>

using namespace mlir;

namespace tts::kernels {

namespace {
/// The valid keys of a row: those below the length, which is clamped so that
/// lanes beyond the last column are not valid either.
struct Keys {
  Emitter &e;
  Value count;

  Value valid() {
    Value keys = e.iota(e.toI32(e.column()));
    return arith::CmpIOp::create(e.builder(), arith::CmpIPredicate::slt, keys,
                                 e.splat(count));
  }
  Value select(Value lanes, double otherwise) {
    return arith::SelectOp::create(e.builder(), valid(), lanes,
                                   e.constantLike(lanes, otherwise));
  }
};
} // namespace

static Value larger(Emitter &e, Value x, Value y) {
  Value is =
      arith::CmpFOp::create(e.builder(), arith::CmpFPredicate::OGT, x, y);
  return arith::SelectOp::create(e.builder(), is, x, y);
}

static void keySoftmax(KeySoftmaxOp op, Emitter &e) {
  ImplicitLocOpBuilder &b = e.builder();
  auto type = cast<RankedTensorType>(op.getScores().getType());
  int64_t columns = type.getShape().back();
  Type element = type.getElementType();
  double scale = op.getScale().convertToDouble();
  double lowest = -std::numeric_limits<double>::infinity();
  e.rangeOfRows(type.getShape(), [&](const Position &at) {
    Value length = e.emitScalar(op.getLengths(), e.index(0));
    Keys keys{e, arith::MinSIOp::create(b, length,
                                        e.integer(length.getType(), columns))};
    auto scores = [&]() -> Value {
      Value lanes = e.emitLanes(op.getScores(), at);
      return arith::MulFOp::create(b, e.constantLike(lanes, scale), lanes);
    };
    Value low = e.constant(VectorType::get({kLanes}, element), lowest);
    Value highest = e.chunks(columns, low, [&](ValueRange so_far) {
                       return Emitter::Values{
                           larger(e, keys.select(scores(), lowest), so_far[0])};
                     }).front();
    highest = e.combineLanes(highest,
                             [&](Value x, Value y) { return larger(e, x, y); });
    // The exponentials stand in the result until their sum is known.
    Value sum =
        sumRow(e, columns, element, 1, [&] {
          Value shifted = arith::SubFOp::create(b, scores(), e.splat(highest));
          Value exponential = keys.select(math::ExpOp::create(b, shifted), 0);
          e.store(op.getProbabilities(), exponential, at);
          return Emitter::Values{exponential};
        }).front();
    e.chunks(columns, {}, [&](ValueRange) {
      Value exponential = e.reload(op.getProbabilities(), at);
      Value share = arith::DivFOp::create(b, exponential, e.splat(sum));
      e.store(op.getProbabilities(), keys.select(share, 0), at);
      return Emitter::Values();
    });
  });
}

static void keySoftmaxGrad(KeySoftmaxGradOp op, Emitter &e) {
  ImplicitLocOpBuilder &b = e.builder();
  auto type = cast<RankedTensorType>(op.getProbabilities().getType());
  int64_t columns = type.getShape().back();
  e.rangeOfRows(type.getShape(), [&](const Position &at) {
    auto p = [&] { return e.emitLanes(op.getProbabilities(), at); };
    auto dp = [&] { return e.emitLanes(op.getDprobabilities(), at); };
    Value sum = sumRow(e, columns, type.getElementType(), 1, [&] {
                  return Emitter::Values{arith::MulFOp::create(b, p(), dp())};
                }).front();
    e.chunks(columns, {}, [&](ValueRange) {
      Value lanes = p();
      Value scaled = arith::MulFOp::create(
          b, e.constantLike(lanes, op.getScale().convertToDouble()), lanes);
      Value centred = arith::SubFOp::create(b, dp(), e.splat(sum));
      e.store(op.getDscores(), arith::MulFOp::create(b, scaled, centred), at);
      return Emitter::Values();
    });
  });
}

void populateSoftmaxRules(Rules &rules) {
  rules.whole<KeySoftmaxOp>(keySoftmax);
  rules.whole<KeySoftmaxGradOp>(keySoftmaxGrad);
}

} // namespace tts::kernels
