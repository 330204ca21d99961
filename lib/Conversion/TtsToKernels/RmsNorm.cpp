//===- RmsNorm.cpp - rules of RMS normalisation ---------------------------===//

#include "Rules.h"
#include "Sums.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"

using namespace mlir;

namespace tts::kernels {

static Value add(Emitter &e, Value x, Value y) {
  return arith::AddFOp::create(e.builder(), x, y);
}
static Value div(Emitter &e, Value x, Value y) {
  return arith::DivFOp::create(e.builder(), x, y);
}
/// x·y, of lanes and lanes or of lanes and a number.
static Value mul(Emitter &e, Value x, Value y) {
  return arith::MulFOp::create(e.builder(), x, e.shapedLike(y, x));
}

/// The column's number of a [channel] tensor.
static Position channel() {
  Position at;
  at.chunk = true;
  return at;
}

static void rmsNorm(RmsNormOp op, Emitter &e) {
  ImplicitLocOpBuilder &b = e.builder();
  auto type = op.getX().getType();
  int64_t columns = type.getShape().back();
  Type element = e.computeTypeOf(op.getX());
  e.rangeOfRows(type.getShape(), [&](const Position &at) {
    auto x = [&] { return e.emitLanes(op.getX(), at); };
    Value squares = sumRow(e, columns, element, 1, [&] {
                      Value lanes = x();
                      return Emitter::Values{mul(e, lanes, lanes)};
                    }).front();
    Value mean = div(e, squares, e.constant(element, double(columns)));
    Value shifted =
        add(e, mean, e.constant(element, op.getEpsilon().convertToDouble()));
    Value rstd =
        div(e, e.constant(element, 1), math::SqrtOp::create(b, shifted));
    e.chunks(columns, {}, [&](ValueRange) {
      Value gamma = e.emitLanes(op.getGamma(), channel());
      e.store(op.getY(), mul(e, mul(e, x(), rstd), gamma), at);
      return Emitter::Values();
    });
    e.store(op.getRstd(), rstd, at.ofRow());
  });
}

static void rmsNormGrad(RmsNormGradOp op, Emitter &e) {
  auto type = op.getX().getType();
  int64_t columns = type.getShape().back();
  Type element = e.computeTypeOf(op.getX());
  e.rangeOfRows(type.getShape(), [&](const Position &at) {
    Value rstd = e.emit(op.getRstd(), at.ofRow());
    // g and xhat at the current chunk.
    auto pieces = [&] {
      Value g = mul(e, e.emitLanes(op.getDy(), at),
                    e.emitLanes(op.getGamma(), channel()));
      return std::pair(g, mul(e, e.emitLanes(op.getX(), at), rstd));
    };
    Value sum = sumRow(e, columns, element, 1, [&] {
                  auto [g, xhat] = pieces();
                  return Emitter::Values{mul(e, g, xhat)};
                }).front();
    Value mean = div(e, sum, e.constant(element, double(columns)));
    e.chunks(columns, {}, [&](ValueRange) {
      auto [g, xhat] = pieces();
      Value inner = arith::SubFOp::create(e.builder(), g, mul(e, xhat, mean));
      e.store(op.getDx(), mul(e, inner, rstd), at);
      return Emitter::Values();
    });
  });
}

static void rmsNormGammaGrad(RmsNormGammaGradOp op, Emitter &e) {
  auto type = op.getX().getType();
  e.rangeOfChunks(type.getShape().back(), /*hoist=*/false, [&] {
    Value sum = sumColumns(e, type.getShape(), e.computeTypeOf(op.getX()),
                           [&](const Position &at) {
                             Value xhat = mul(e, e.emitLanes(op.getX(), at),
                                              e.emit(op.getRstd(), at.ofRow()));
                             return mul(e, e.emitLanes(op.getDy(), at), xhat);
                           });
    if (op.getAcc())
      sum = add(e, e.emitLanes(op.getAcc(), channel()), sum);
    e.store(op.getDgamma(), sum, channel());
  });
}

void populateRmsNormRules(Rules &rules) {
  rules.whole<RmsNormOp>(rmsNorm);
  rules.whole<RmsNormGradOp>(rmsNormGrad);
  rules.whole<RmsNormGammaGradOp>(rmsNormGammaGrad);
}

} // namespace tts::kernels
