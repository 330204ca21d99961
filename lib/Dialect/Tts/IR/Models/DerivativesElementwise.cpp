//===- DerivativesElementwise.cpp - derivatives of pointwise ops ---------===//
// One line per operand: d[i] is the gradient of operand i, dy the result's.
// Where the derivative can be written in the result, it is: results are often
// kept for another reader anyway. No call has two arguments that build ops: C++
// leaves their order open, and programs are the same with every compiler.

#include "GradientBuilder.h"

using namespace mlir;
using namespace tts;

#define TTS_DERIVATIVE(OP)                                                     \
  void OP::buildAdjoint(OpBuilder &builder, ValueRange gradients,              \
                        SmallVectorImpl<Value> &d) {                           \
    GradientBuilder g(builder, *this);                                         \
    Value dy = gradients[0];
#define TTS_END }

// clang-format off

//===-- two operands: x, y -> z; dy is z's gradient ------------------------===//

TTS_DERIVATIVE(AddOp)
  d[0] = dy;
  d[1] = dy;
TTS_END

TTS_DERIVATIVE(SubOp)
  d[0] = dy;
  d[1] = g.neg(dy);
TTS_END

TTS_DERIVATIVE(MulOp)
  d[0] = g.mul(dy, getY());
  d[1] = g.mul(dy, getX());
TTS_END

TTS_DERIVATIVE(DivOp)
  d[0] = g.div(dy, getY());
  d[1] = g.neg(g.mul(d[0], getZ()));
TTS_END

//===-- one operand: x -> y ------------------------------------------------===//

TTS_DERIVATIVE(NegOp)
  d[0] = g.neg(dy);
TTS_END

TTS_DERIVATIVE(AbsOp)
  d[0] = g.mul(dy, g.make<SignOp>(dy, getX()));
TTS_END

TTS_DERIVATIVE(ReluOp)
  d[0] = g.make<ReluGradOp>(dy, getY(), dy);
TTS_END

TTS_DERIVATIVE(GeluOp)
  d[0] = g.make<GeluGradOp>(dy, getX(), dy);
TTS_END

TTS_DERIVATIVE(TanhOp)  // 1 - y²
  Value square = g.mul(getY(), getY());
  d[0] = g.mul(dy, g.sub(g.full(1, dy), square));
TTS_END

TTS_DERIVATIVE(SigmoidOp)  // y (1 - y)
  d[0] = g.mul(dy, g.mul(getY(), g.sub(g.full(1, dy), getY())));
TTS_END

TTS_DERIVATIVE(SiluOp)  // s + y (1 - s), s = sigmoid x
  Value s = g.make<SigmoidOp>(dy, getX());
  d[0] = g.mul(dy, g.add(s, g.mul(getY(), g.sub(g.full(1, dy), s))));
TTS_END

TTS_DERIVATIVE(MishOp)
  d[0] = g.make<MishGradOp>(dy, getX(), dy);
TTS_END

TTS_DERIVATIVE(ExpOp)
  d[0] = g.mul(dy, getY());
TTS_END

TTS_DERIVATIVE(LogOp)
  d[0] = g.div(dy, getX());
TTS_END

TTS_DERIVATIVE(Log1pOp)
  d[0] = g.div(dy, g.add(g.full(1, dy), getX()));
TTS_END

TTS_DERIVATIVE(SqrtOp)  // 1 / 2y
  d[0] = g.div(g.scale(0.5, dy), getY());
TTS_END

TTS_DERIVATIVE(RsqrtOp)  // -y³ / 2
  Value cube = g.mul(getY(), g.mul(getY(), getY()));
  d[0] = g.mul(g.scale(-0.5, dy), cube);
TTS_END

TTS_DERIVATIVE(SinOp)
  d[0] = g.mul(dy, g.make<CosOp>(dy, getX()));
TTS_END

TTS_DERIVATIVE(CosOp)
  d[0] = g.neg(g.mul(dy, g.make<SinOp>(dy, getX())));
TTS_END

TTS_DERIVATIVE(CastOp)  // integers have no gradient
  if (isa<FloatType>(getX().getType().getElementType()))
    d[0] = g.make<CastOp>(getX(), dy);
TTS_END
