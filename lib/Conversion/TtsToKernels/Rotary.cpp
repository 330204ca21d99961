//===- Rotary.cpp - rule of rotary positions ------------------------------===//

#include "Rules.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"

using namespace mlir;

namespace tts::kernels {

namespace {
/// What stands at the even and at the odd channel of a pair, or of several.
struct Pair {
  Value even, odd;
};

/// A tensor's pairs: of the current chunk, which starts at an even channel, or
/// the one that the index `channel` lies in.
struct Pairs {
  Emitter &e;
  Position at;
  Value channel;
  ImplicitLocOpBuilder &b = e.builder();

  Pair of(Value value, ArrayRef<Value> row) {
    Position from;
    from.leading.assign(row.begin(), row.end());
    from.chunk = at.chunk;
    if (at.chunk) {
      auto halves = vector::DeinterleaveOp::create(b, e.emitLanes(value, from));
      return {halves.getRes1(), halves.getRes2()};
    }
    Value odd = arith::OrIOp::create(b, channel, e.index(1));
    Value even = arith::SubIOp::create(b, odd, e.index(1));
    return {element(value, row, even), element(value, row, odd)};
  }

  Value join(Pair pair) {
    if (at.chunk)
      return vector::InterleaveOp::create(b, pair.even, pair.odd);
    Value isOdd = arith::TruncIOp::create(b, b.getI1Type(), e.toI32(channel));
    return arith::SelectOp::create(b, isOdd, pair.odd, pair.even);
  }

private:
  Value element(Value value, ArrayRef<Value> row, Value index) {
    Emitter::Values indices(row);
    indices.push_back(index);
    return e.emitScalar(value, indices);
  }
};
} // namespace

/// A rotation by the angle or, if `inverse`, by its negative.
static Pair rotate(Emitter &e, Pair x, Value sine, Value cosine, bool inverse) {
  ImplicitLocOpBuilder &b = e.builder();
  auto mul = [&](Value u, Value v) { return arith::MulFOp::create(b, u, v); };
  Value along = mul(x.even, cosine), across = mul(x.odd, sine);
  Value up = mul(x.odd, cosine), back = mul(x.even, sine);
  if (inverse)
    return {arith::AddFOp::create(b, along, across),
            arith::SubFOp::create(b, up, back)};
  return {arith::SubFOp::create(b, along, across),
          arith::AddFOp::create(b, up, back)};
}

static Value rotary(RotaryOp op, Emitter &e, const Position &at) {
  assert(op.getHeads() == 1 && "Select makes heads a dimension");
  ArrayRef<Value> row(at.leading);
  Pairs pairs{e, at, at.chunk ? Value() : row.back()};
  if (!at.chunk)
    row = row.drop_back();
  Pair angle = pairs.of(op.getTable(), row[1]);
  Pair x = pairs.of(op.getX(), row);
  Type element = op.getTable().getType().getElementType();
  x = {e.convertFloat(x.even, element), e.convertFloat(x.odd, element)};
  Pair y = rotate(e, x, angle.even, angle.odd, op.getInverse());
  return e.convertFloat(pairs.join(y), op.getType().getElementType());
}

void populateRotaryRules(Rules &rules) { rules.map<RotaryOp>(rotary); }

} // namespace tts::kernels
