//===- BatchNorm.cpp - rules of batch normalisation -----------------------===//

#include "Rules.h"
#include "Sums.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"

using namespace mlir;

namespace tts::kernels {

namespace {
/// Arithmetic at one position of a [batch, time, channel] tensor, with vectors
/// of one number per channel.
struct Channels {
  Emitter &e;
  const Position &at;
  ImplicitLocOpBuilder &b = e.builder();

  Value add(Value x, Value y) { return arith::AddFOp::create(b, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, x, y); }
  Value div(Value x, Value y) { return arith::DivFOp::create(b, x, y); }
  Value select(Value condition, Value x, Value y) {
    return arith::SelectOp::create(b, condition, x, y);
  }
  Value emit(Value x) { return e.emitLanes(x, at); }
  /// The number of this position's channel.
  Value of(Value vector) {
    Position channel;
    channel.chunk = at.chunk;
    if (!at.chunk)
      channel.leading.push_back(at.leading.back());
    return e.emitLanes(vector, channel);
  }
  Value like(Value scalar, Value value) { return e.shapedLike(scalar, value); }
  Value one(Value like) { return e.constantLike(like, 1); }
};
} // namespace

static Type elementOf(Value tensor) {
  return cast<RankedTensorType>(tensor.getType()).getElementType();
}

/// n, or 1 where there is no frame: sums over none are 0.
static Value atLeastOne(Emitter &e, Value n) {
  ImplicitLocOpBuilder &b = e.builder();
  Value one = e.constantLike(n, 1);
  Value some = arith::CmpFOp::create(b, arith::CmpFPredicate::OGE, n, one);
  return arith::SelectOp::create(b, some, n, one);
}

static void statistics(BatchStatisticsOp op, Emitter &e) {
  auto type = cast<RankedTensorType>(op.getX().getType());
  Type element = elementOf(op.getMean());
  ImplicitLocOpBuilder &b = e.builder();
  e.rangeOfChunks(type.getShape().back(), /*hoist=*/false, [&] {
    Value n = e.splat(atLeastOne(e, e.emitScalar(op.getN(), {})));
    // Σ over valid frames of `each`(x), over n.
    auto average = [&](llvm::function_ref<Value(Channels, Value)> each) {
      Value sum = sumColumns(
          e, type.getShape(), element, [&](const Position &at) -> Value {
            Value x = e.convertFloat(e.emitLanes(op.getX(), at), element);
            Value term = each(Channels{e, at}, x);
            return arith::SelectOp::create(b,
                                           e.isValidTime(op.getLengths(), at),
                                           term, e.constantLike(term, 0));
          });
      return Value(arith::DivFOp::create(b, sum, n));
    };
    Value mean = average([](Channels, Value x) { return x; });
    Value variance = average([&](Channels c, Value x) {
      Value centred = c.sub(x, mean);
      return c.mul(centred, centred);
    });
    Position channel;
    channel.chunk = true;
    Channels c{e, channel};
    Value epsilon = e.constantLike(variance, op.getEpsilon().convertToDouble());
    Value root = math::SqrtOp::create(b, c.add(variance, epsilon));
    e.store(op.getMean(), mean, channel);
    e.store(op.getRstd(), c.div(c.one(root), root), channel);
    e.store(op.getVariance(), variance, channel);
  });
}

static Value statisticsGrad(BatchStatisticsGradOp op, Emitter &e,
                            const Position &at) {
  Channels c{e, at};
  Value mean = c.of(op.getMean()), rstd = c.of(op.getRstd());
  Value x = c.emit(op.getX());
  Type element = getElementTypeOrSelf(x);
  Value cube = c.mul(c.mul(rstd, rstd), rstd);
  Value slope = c.mul(c.of(op.getDrstd()), cube);
  Value centred = c.sub(e.convertFloat(x, elementOf(op.getMean())), mean);
  Value n = atLeastOne(e, e.emitScalar(op.getN(), {}));
  Value inner = c.sub(c.of(op.getDmean()), c.mul(slope, centred));
  Value dx = e.convertFloat(c.div(inner, c.like(n, inner)), element);
  return c.select(e.isValidTime(op.getLengths(), at), dx,
                  e.constantLike(dx, 0));
}

static Value normalize(BatchNormalizeOp op, Emitter &e, const Position &at) {
  Channels c{e, at};
  Value x = c.emit(op.getX());
  Value wide = e.convertFloat(x, elementOf(op.getMean()));
  Value centred = c.sub(wide, c.of(op.getMean()));
  Value scaled = c.mul(c.mul(centred, c.of(op.getRstd())), c.of(op.getGamma()));
  return e.convertFloat(c.add(scaled, c.of(op.getBeta())),
                        getElementTypeOrSelf(x));
}

static Value normalizeGrad(BatchNormalizeGradOp op, Emitter &e,
                           const Position &at) {
  Channels c{e, at};
  Value dy = c.emit(op.getDy());
  Value scale = c.mul(c.of(op.getRstd()), c.of(op.getGamma()));
  Value dx = c.mul(e.convertFloat(dy, elementOf(op.getRstd())), scale);
  return e.convertFloat(dx, getElementTypeOrSelf(dy));
}

static void gammaGrad(BatchNormalizeGammaGradOp op, Emitter &e) {
  auto type = cast<RankedTensorType>(op.getX().getType());
  Type element = elementOf(op.getMean());
  e.rangeOfChunks(type.getShape().back(), /*hoist=*/false, [&] {
    Position channel;
    channel.chunk = true;
    Channels c{e, channel};
    Value mean = c.of(op.getMean()), rstd = c.of(op.getRstd());
    Value sum = sumColumns(
        e, type.getShape(), element, [&](const Position &at) -> Value {
          Channels here{e, at};
          auto wide = [&](Value x) {
            return e.convertFloat(here.emit(x), element);
          };
          Value centred = here.sub(wide(op.getX()), mean);
          return here.mul(wide(op.getDy()), here.mul(centred, rstd));
        });
    if (op.getAcc())
      sum = c.add(c.of(op.getAcc()), sum);
    e.store(op.getDgamma(), sum, channel);
  });
}

static Value runningAverage(RunningAverageOp op, Emitter &e,
                            const Position &at) {
  ImplicitLocOpBuilder &b = e.builder();
  Channels c{e, at};
  Value running = c.emit(op.getRunning()), batch = c.emit(op.getBatch());
  Value n = e.emitScalar(op.getN(), {});
  Value one = e.constantLike(n, 1), zero = e.constantLike(n, 0);
  if (op.getUnbiased()) {
    Value others = atLeastOne(e, arith::SubFOp::create(b, n, one));
    Value ratio = arith::DivFOp::create(b, n, others);
    batch = c.mul(batch, c.like(ratio, batch));
  }
  double momentum = op.getMomentum().convertToDouble();
  Value kept = c.mul(e.constantLike(running, 1 - momentum), running);
  Value next = c.add(kept, c.mul(e.constantLike(batch, momentum), batch));
  Value some = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, n, zero);
  return c.select(some, next, running);
}

void populateBatchNormRules(Rules &rules) {
  rules.whole<BatchStatisticsOp>(statistics);
  rules.map<BatchStatisticsGradOp>(statisticsGrad);
  rules.map<BatchNormalizeOp>(normalize);
  rules.map<BatchNormalizeGradOp>(normalizeGrad);
  rules.whole<BatchNormalizeGammaGradOp>(gammaGrad);
  rules.map<RunningAverageOp>(runningAverage);
}

} // namespace tts::kernels
