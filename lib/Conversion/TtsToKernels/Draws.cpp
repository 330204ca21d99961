//===- Draws.cpp - rules of noise, spans and coins ------------------------===//

#include "Philox.h"
#include "Rules.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"

using namespace mlir;

namespace tts::kernels {

namespace {
/// Quantiles of the normal distribution: PPND7 of Wichura's AS 241.
struct Quantile {
  Emitter &e;
  ImplicitLocOpBuilder &b = e.builder();

  Value c(Value like, double value) { return e.constantLike(like, value); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, x, y); }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, x, y); }

  /// A polynomial by Horner's rule, its highest coefficient first.
  Value polynomial(Value x, ArrayRef<double> coefficients) {
    Value sum = c(x, coefficients.front());
    for (double coefficient : coefficients.drop_front())
      sum = add(mul(sum, x), c(x, coefficient));
    return sum;
  }
  Value quotient(Value x, ArrayRef<double> above, ArrayRef<double> below) {
    return arith::DivFOp::create(b, polynomial(x, above), polynomial(x, below));
  }

  /// |Φ⁻¹(p)| for p = 1/2 - q in [2⁻³³, 1/2). AS 241's third function is for p
  /// below e⁻²⁵, which no word gives.
  Value magnitude(Value p, Value q) {
    Value central = mul(
        q, quotient(sub(c(q, 0.180625), mul(q, q)),
                    {59.109374720, 159.29113202, 50.434271938, 3.3871327179},
                    {67.187563600, 78.757757664, 17.895169469, 1.0}));
    Value log = math::LogOp::create(b, p);
    Value root = math::SqrtOp::create(b, arith::NegFOp::create(b, log));
    Value tail =
        quotient(sub(root, c(p, 1.6)),
                 {0.17023821103, 1.3067284816, 2.7568153900, 1.4234372777},
                 {0.12021132975, 0.73700164250, 1.0});
    Value isCentral =
        arith::CmpFOp::create(b, arith::CmpFPredicate::OLE, q, c(q, 0.425));
    return arith::SelectOp::create(b, isCentral, central, tail);
  }

  /// (m + 1/2) / 2³² of integers below 2³¹.
  Value share(Value m, Type element) {
    Value x = e.convertFloat(m, element);
    return mul(add(x, c(x, 0.5)), c(x, 1.0 / 4294967296.0));
  }
};
} // namespace

/// In f32 at least: a half has no room for the polynomials.
static Type workType(Type element) {
  return element.isF64() ? element : Float32Type::get(element.getContext());
}

static Value normal(NormalOp op, Emitter &e, const Position &at) {
  ImplicitLocOpBuilder &b = e.builder();
  auto type = cast<RankedTensorType>(op.getY().getType());
  Value word = Philox(e).element(op.getDraw(), op.getUtterances(),
                                 op.getStream(), type.getRank(), at);
  auto integer = [&](int64_t value) {
    return e.integer(word.getType(), value);
  };
  Value m = arith::AndIOp::create(b, word, integer(0x7fffffff));
  // The distance to 1/2 from integers too: nothing cancels.
  Value rest = arith::XOrIOp::create(b, m, integer(0x7fffffff));
  Quantile quantile{e};
  Type element = workType(type.getElementType());
  Value size = quantile.magnitude(quantile.share(m, element),
                                  quantile.share(rest, element));
  Value isNegative =
      arith::CmpIOp::create(b, arith::CmpIPredicate::slt, word, integer(0));
  Value y = arith::SelectOp::create(b, isNegative,
                                    arith::NegFOp::create(b, size), size);
  return e.convertFloat(y, type.getElementType());
}

/// The words of counter (update, utterance, 0, 0), scalars or lanes.
static Philox::Words wordsOf(Emitter &e, Value draw, Value utterance,
                             StringRef stream) {
  Philox philox(e);
  auto [seed, update] = philox.seedAndUpdate(draw);
  Value id = philox.low(utterance);
  Value zero = e.integer(id.getType(), 0);
  return philox.draw({e.shapedLike(philox.low(update), id), id, zero, zero},
                     philox.key(seed, stream));
}

static Value uniform(UniformOp op, Emitter &e, const Position &at) {
  auto words =
      wordsOf(e, op.getDraw(), e.emit(op.getUtterances(), at), op.getStream());
  auto type = cast<RankedTensorType>(op.getY().getType());
  return e.convertFloat(Philox(e).fraction(words[0]), type.getElementType());
}

static Value spanMask(SpanMaskOp op, Emitter &e, const Position &at) {
  ImplicitLocOpBuilder &b = e.builder();
  Value utterance = at.leading.front();
  auto words =
      wordsOf(e, op.getDraw(), e.emitScalar(op.getUtterances(), utterance),
              op.getStream());
  Philox philox(e);
  Quantile f{e};
  Value length = e.emitScalar(op.getLengths(), utterance);
  auto share = [&](Value of, Value part) -> Value {
    Value whole = e.convertFloat(of, b.getF64Type());
    return arith::FPToSIOp::create(b, b.getI32Type(), f.mul(part, whole));
  };
  double low = op.getLow().convertToDouble();
  Value u = philox.fraction(words[0]), v = philox.fraction(words[1]);
  Value part = f.add(f.c(u, low),
                     f.mul(f.c(u, op.getHigh().convertToDouble() - low), u));
  Value steps = share(length, part);
  Value places = arith::AddIOp::create(
      b, arith::SubIOp::create(b, length, steps), e.integer(b.getI32Type(), 1));
  Value first = share(places, v);
  Value time = at.chunk ? e.iota(e.toI32(e.column())) : e.toI32(at.leading[1]);
  // Below the first step the difference is a large unsigned number.
  Value since = arith::SubIOp::create(b, time, e.shapedLike(first, time));
  Value inside = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, since,
                                       e.shapedLike(steps, time));
  return e.convertFloat(
      arith::ExtUIOp::create(b, time.getType(), inside),
      cast<RankedTensorType>(op.getY().getType()).getElementType());
}

static Value coin(CoinOp op, Emitter &e, const Position &) {
  ImplicitLocOpBuilder &b = e.builder();
  Type element = cast<RankedTensorType>(op.getY().getType()).getElementType();
  auto words =
      wordsOf(e, op.getDraw(), e.integer(b.getI64Type(), 0), op.getStream());
  Value kept = Philox(e).isKept(words[0], op.getRate().convertToDouble());
  return arith::SelectOp::create(b, kept, e.constant(element, 1),
                                 e.constant(element, 0));
}

void populateDrawRules(Rules &rules) {
  rules.map<NormalOp>(normal);
  rules.map<UniformOp>(uniform);
  rules.map<SpanMaskOp>(spanMask);
  rules.map<CoinOp>(coin);
}

} // namespace tts::kernels
