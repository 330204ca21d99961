//===- Norms.cpp - rules of layer normalisation ---------------------------===//

#include "Rules.h"
#include "Sums.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"

using namespace mlir;

namespace tts::kernels {

namespace {
struct Norm {
  Emitter &e;
  ImplicitLocOpBuilder &b = e.builder();

  Value add(Value x, Value y) { return arith::AddFOp::create(b, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, x, y); }
  Value div(Value x, Value y) { return arith::DivFOp::create(b, x, y); }
  Value like(Value scalar, Value lanes) { return e.shapedLike(scalar, lanes); }
  /// (x - mean) · rstd
  Value normalized(Value x, Value mean, Value rstd) {
    return mul(sub(x, like(mean, x)), like(rstd, x));
  }
};
} // namespace

/// The column's number of a [channel] tensor.
static Position channel() {
  Position at;
  at.chunk = true;
  return at;
}

static void layerNorm(LayerNormOp op, Emitter &e) {
  auto type = cast<RankedTensorType>(op.getX().getType());
  int64_t columns = type.getShape().back();
  Type element = e.computeTypeOf(op.getX());
  Norm n{e};
  e.rangeOfRows(type.getShape(), [&](const Position &at) {
    auto x = [&] { return e.emitLanes(op.getX(), at); };
    Value size = e.constant(element, double(columns));
    Value mean = n.div(
        sumRow(e, columns, element, 1, [&] { return Emitter::Values{x()}; })
            .front(),
        size);
    Value squares = sumRow(e, columns, element, 1, [&] {
                      Value lanes = x();
                      Value centred = n.sub(lanes, n.like(mean, lanes));
                      return Emitter::Values{n.mul(centred, centred)};
                    }).front();
    Value variance =
        n.add(n.div(squares, size),
              e.constant(element, op.getEpsilon().convertToDouble()));
    Value rstd =
        n.div(e.constant(element, 1), math::SqrtOp::create(n.b, variance));
    e.chunks(columns, {}, [&](ValueRange) {
      Value scaled = n.mul(n.normalized(x(), mean, rstd),
                           e.emitLanes(op.getGamma(), channel()));
      e.store(op.getY(), n.add(scaled, e.emitLanes(op.getBeta(), channel())),
              at);
      return Emitter::Values();
    });
    e.store(op.getMean(), mean, at.ofRow());
    e.store(op.getRstd(), rstd, at.ofRow());
  });
}

static void layerNormGrad(LayerNormGradOp op, Emitter &e) {
  auto type = cast<RankedTensorType>(op.getX().getType());
  int64_t columns = type.getShape().back();
  Type element = e.computeTypeOf(op.getX());
  Norm n{e};
  e.rangeOfRows(type.getShape(), [&](const Position &at) {
    Value mean = e.emit(op.getMean(), at.ofRow());
    Value rstd = e.emit(op.getRstd(), at.ofRow());
    // g and xhat at the current chunk.
    auto pieces = [&] {
      Value g = n.mul(e.emitLanes(op.getDy(), at),
                      e.emitLanes(op.getGamma(), channel()));
      return std::pair(g, n.normalized(e.emitLanes(op.getX(), at), mean, rstd));
    };
    auto sums = sumRow(e, columns, element, 2, [&] {
      auto [g, xhat] = pieces();
      return Emitter::Values{g, n.mul(g, xhat)};
    });
    Value size = e.constant(element, double(columns));
    Value meanG = n.div(sums[0], size), meanGX = n.div(sums[1], size);
    e.chunks(columns, {}, [&](ValueRange) {
      auto [g, xhat] = pieces();
      Value inner =
          n.sub(n.sub(g, n.like(meanG, g)), n.mul(xhat, n.like(meanGX, xhat)));
      e.store(op.getDx(), n.mul(n.like(rstd, inner), inner), at);
      return Emitter::Values();
    });
  });
}

static void layerNormGammaGrad(LayerNormGammaGradOp op, Emitter &e) {
  auto type = cast<RankedTensorType>(op.getX().getType());
  Norm n{e};
  e.rangeOfChunks(type.getShape().back(), /*hoist=*/false, [&] {
    Value sum = sumColumns(e, type.getShape(), e.computeTypeOf(op.getX()),
                           [&](const Position &at) {
                             Value xhat =
                                 n.normalized(e.emitLanes(op.getX(), at),
                                              e.emit(op.getMean(), at.ofRow()),
                                              e.emit(op.getRstd(), at.ofRow()));
                             return n.mul(e.emitLanes(op.getDy(), at), xhat);
                           });
    if (op.getAcc())
      sum = n.add(e.emitLanes(op.getAcc(), channel()), sum);
    e.store(op.getDgamma(), sum, channel());
  });
}

void populateNormRules(Rules &rules) {
  rules.whole<LayerNormOp>(layerNorm);
  rules.whole<LayerNormGradOp>(layerNormGrad);
  rules.whole<LayerNormGammaGradOp>(layerNormGammaGrad);
}

} // namespace tts::kernels
