//===- Elementwise.cpp - rules of pointwise arithmetic --------------------===//

#include "Rules.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"

using namespace mlir;

namespace tts::kernels {

/// The arithmetic of a formula: each call is one rounding.
struct Formula {
  Emitter &e;
  ImplicitLocOpBuilder &b = e.builder();

  Value add(Value x, Value y) { return arith::AddFOp::create(b, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, x, y); }
  Value div(Value x, Value y) { return arith::DivFOp::create(b, x, y); }
  Value c(Value like, double value) { return e.constantLike(like, value); }
  Value select(arith::CmpFPredicate predicate, Value x, Value y, Value then,
               Value otherwise) {
    Value condition = arith::CmpFOp::create(b, predicate, x, y);
    return arith::SelectOp::create(b, condition, then, otherwise);
  }
  /// e^-x + 1
  Value onePlusExpNeg(Value x) {
    return add(c(x, 1), math::ExpOp::create(b, arith::NegFOp::create(b, x)));
  }
};

/// Registers an op whose result is `fn(formula, operands)`.
template <typename OpT, typename Fn>
static void pointwise(Rules &rules, Fn fn) {
  rules.flatMap<OpT>([fn](OpT op, Emitter &e, const Position &at) -> Value {
    return fn(Formula{e}, e.emitOperands(op, at));
  });
}

using Operands = const Emitter::Values &;
using P = arith::CmpFPredicate;

static const double kSqrt2OverPi = 0.7978845608028653559;
static const double kGeluCubic = 0.044715;

static Value geluTanh(Formula f, Value x) {
  Value cube = f.mul(f.mul(x, x), x);
  Value inner = f.add(x, f.mul(f.c(x, kGeluCubic), cube));
  return math::TanhOp::create(f.b, f.mul(f.c(x, kSqrt2OverPi), inner));
}

static Value gelu(Formula f, Value x) {
  Value half = f.mul(f.c(x, 0.5), x);
  return f.mul(half, f.add(f.c(x, 1), geluTanh(f, x)));
}

/// gelu'(x) = (1+h)/2 + x/2·(1-h²)·√(2/π)·(1 + 3·0.044715·x²), h the tanh.
static Value geluGrad(Formula f, Value x, Value dy) {
  Value h = geluTanh(f, x);
  Value one = f.c(x, 1), half = f.c(x, 0.5);
  Value left = f.mul(half, f.add(one, h));
  Value slope = f.mul(f.c(x, kSqrt2OverPi),
                      f.add(one, f.mul(f.c(x, 3 * kGeluCubic), f.mul(x, x))));
  Value right = f.mul(f.mul(f.mul(half, x), f.sub(one, f.mul(h, h))), slope);
  return f.mul(dy, f.add(left, right));
}

/// With e = e^x, tanh(ln(1 + e)) = n / (n + 2) for n = e·(e + 2); past 20 the
/// quotient is 1 in f64, too, and e would overflow.
struct Mish {
  Mish(Formula f, Value x) : f(f) {
    Value most = f.c(x, 20);
    e = math::ExpOp::create(f.b, f.select(P::OGT, x, most, most, x));
    n = f.mul(e, f.add(e, f.c(x, 2)));
    n2 = f.add(n, f.c(x, 2));
    tanh = f.div(n, n2);
  }
  Formula f;
  Value e, n, n2, tanh;
};

/// mish'(x) = tanh + x · 4e(1 + e) / (n + 2)².
static Value mishGrad(Formula f, Value x, Value dy) {
  Mish m(f, x);
  Value above = f.mul(f.mul(f.c(x, 4), m.e), f.add(f.c(x, 1), m.e));
  Value slope = f.div(above, f.mul(m.n2, m.n2));
  return f.mul(dy, f.add(m.tanh, f.mul(x, slope)));
}

static Value sign(Formula f, Value x) {
  Value zero = f.c(x, 0);
  Value negative = f.select(P::OLT, x, zero, f.c(x, -1), zero);
  return f.select(P::OGT, x, zero, f.c(x, 1), negative);
}

/// Clamped before it is converted: past its range the conversion has no value.
static Value roundToInt(Emitter &e, Value x) {
  Formula f{e};
  Value most = f.c(x, 2147483520.0), least = f.c(x, -2147483520.0);
  Value y = math::RoundEvenOp::create(f.b, x);
  y = f.select(P::OGT, y, most, most, y);
  y = f.select(P::OLT, y, least, least, y);
  y = f.select(P::UNO, y, y, f.c(x, 0), y);
  Type i32 = f.b.getI32Type();
  if (auto shaped = dyn_cast<VectorType>(x.getType()))
    i32 = shaped.clone(i32);
  return arith::FPToSIOp::create(f.b, i32, y);
}

static void populateArithmetic(Rules &rules) {
  pointwise<AddOp>(rules,
                   [](Formula f, Operands x) { return f.add(x[0], x[1]); });
  pointwise<AccumulateOp>(
      rules, [](Formula f, Operands x) { return f.add(x[0], x[1]); });
  pointwise<SubOp>(rules,
                   [](Formula f, Operands x) { return f.sub(x[0], x[1]); });
  pointwise<MulOp>(rules,
                   [](Formula f, Operands x) { return f.mul(x[0], x[1]); });
  pointwise<DivOp>(rules,
                   [](Formula f, Operands x) { return f.div(x[0], x[1]); });
  pointwise<NegOp>(rules, [](Formula f, Operands x) -> Value {
    return arith::NegFOp::create(f.b, x[0]);
  });
  pointwise<AbsOp>(rules, [](Formula f, Operands x) -> Value {
    return math::AbsFOp::create(f.b, x[0]);
  });
  pointwise<SignOp>(rules, [](Formula f, Operands x) { return sign(f, x[0]); });
  rules.flatMap<CastOp>([](CastOp op, Emitter &e, const Position &at) -> Value {
    return e.convertFloat(e.emit(op.getX(), at), e.computeTypeOf(op.getY()));
  });
  rules.flatMap<RoundToIntOp>(
      [](RoundToIntOp op, Emitter &e, const Position &at) -> Value {
        return roundToInt(e, e.emit(op.getX(), at));
      });
}

static void populateActivations(Rules &rules) {
  // Unordered or greater: a NaN is kept.
  pointwise<ReluOp>(rules, [](Formula f, Operands x) {
    return f.select(P::UGT, x[0], f.c(x[0], 0), x[0], f.c(x[0], 0));
  });
  pointwise<ReluGradOp>(rules, [](Formula f, Operands x) {
    return f.select(P::OGT, x[0], f.c(x[0], 0), x[1], f.c(x[0], 0));
  });
  pointwise<GeluOp>(rules, [](Formula f, Operands x) { return gelu(f, x[0]); });
  pointwise<GeluGradOp>(
      rules, [](Formula f, Operands x) { return geluGrad(f, x[0], x[1]); });
  pointwise<MishOp>(rules, [](Formula f, Operands x) {
    return f.mul(x[0], Mish(f, x[0]).tanh);
  });
  pointwise<MishGradOp>(
      rules, [](Formula f, Operands x) { return mishGrad(f, x[0], x[1]); });
  pointwise<SigmoidOp>(rules, [](Formula f, Operands x) {
    return f.div(f.c(x[0], 1), f.onePlusExpNeg(x[0]));
  });
  pointwise<SiluOp>(rules, [](Formula f, Operands x) {
    return f.div(x[0], f.onePlusExpNeg(x[0]));
  });
}

/// Registers an op that is one function of the math dialect.
template <typename OpT, typename MathOp> static void function(Rules &rules) {
  pointwise<OpT>(rules, [](Formula f, Operands x) -> Value {
    return MathOp::create(f.b, x[0]);
  });
}

static void populateFunctions(Rules &rules) {
  function<TanhOp, math::TanhOp>(rules);
  function<ExpOp, math::ExpOp>(rules);
  function<LogOp, math::LogOp>(rules);
  function<Log1pOp, math::Log1pOp>(rules);
  function<SqrtOp, math::SqrtOp>(rules);
  function<SinOp, math::SinOp>(rules);
  function<CosOp, math::CosOp>(rules);
  // Two exact roundings rather than the machine's estimate.
  pointwise<RsqrtOp>(rules, [](Formula f, Operands x) {
    return f.div(f.c(x[0], 1), math::SqrtOp::create(f.b, x[0]));
  });
}

void populateElementwiseRules(Rules &rules) {
  rules.exact<NegOp, AbsOp, SignOp, ReluOp, ReluGradOp>();
  populateArithmetic(rules);
  populateActivations(rules);
  populateFunctions(rules);
}

} // namespace tts::kernels
