//===- Optimizer.cpp - rules of parameter updates -------------------------===//

#include "Rules.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"
#include <cmath>
#include <limits>

using namespace mlir;

namespace tts::kernels {

namespace {
/// What every update op reads: its settings and whether it may change anything.
struct Update {
  enum Setting { Rate, Beta1, Beta2, Epsilon, Decay, Correct1, Correct2, Ema };

  Emitter &e;
  Value settings, clip;
  Value like;
  ImplicitLocOpBuilder &b = e.builder();

  Value setting(Setting which) {
    return e.shapedLike(e.emitScalar(settings, e.index(which)), like);
  }
  Value clipFactor() { return e.shapedLike(e.emitScalar(clip, {}), like); }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, x, y); }
  Value one() { return e.constantLike(like, 1); }
  /// `fresh` where the clip factor is finite, else `old`.
  Value guarded(Value fresh, Value old) {
    Value factor = e.emitScalar(clip, {});
    Value finite = arith::CmpFOp::create(
        b, arith::CmpFPredicate::OLT, math::AbsFOp::create(b, factor),
        e.constantLike(factor, std::numeric_limits<double>::infinity()));
    return arith::SelectOp::create(b, finite, fresh, old);
  }
  /// decay·old + (1 - decay)·fresh
  Value average(Setting decay, Value old, Value fresh) {
    Value d = setting(decay);
    return add(mul(d, old), mul(sub(one(), d), fresh));
  }
  /// p·(1 - lr·wd)
  Value decayed(Value p) {
    return mul(p, sub(one(), mul(setting(Rate), setting(Decay))));
  }
};
} // namespace

static Emitter::Values adamw(AdamWOp op, Emitter &e, const Position &at) {
  Value p = e.emitLanes(op.getP(), at), m = e.emitLanes(op.getM(), at);
  Value v = e.emitLanes(op.getV(), at);
  Update u{e, op.getSettings(), op.getClip(), p};
  Value g = u.mul(u.clipFactor(), e.emitLanes(op.getG(), at));
  Value newM = u.average(Update::Beta1, m, g);
  Value newV = u.average(Update::Beta2, v, u.mul(g, g));
  Value root =
      math::SqrtOp::create(u.b, u.mul(newV, u.setting(Update::Correct2)));
  Value direction =
      arith::DivFOp::create(u.b, u.mul(newM, u.setting(Update::Correct1)),
                            u.add(root, u.setting(Update::Epsilon)));
  Value newP = u.sub(u.decayed(p), u.mul(u.setting(Update::Rate), direction));
  return {u.guarded(newP, p), u.guarded(newM, m), u.guarded(newV, v)};
}

static Value sgd(SgdOp op, Emitter &e, const Position &at) {
  Value p = e.emitLanes(op.getP(), at);
  Update u{e, op.getSettings(), op.getClip(), p};
  Value step = u.mul(u.mul(u.setting(Update::Rate), u.clipFactor()),
                     e.emitLanes(op.getG(), at));
  return u.guarded(u.sub(u.decayed(p), step), p);
}

static Value ema(EmaOp op, Emitter &e, const Position &at) {
  Value average = e.emitLanes(op.getE(), at);
  Update u{e, op.getSettings(), op.getClip(), average};
  Value fresh = u.average(Update::Ema, average, e.emitLanes(op.getP(), at));
  return u.guarded(fresh, average);
}

static Value adopt(AdoptOp op, Emitter &e, const Position &at) {
  Value state = e.emitLanes(op.getState(), at);
  Update u{e, {}, op.getClip(), state};
  return u.guarded(e.emitLanes(op.getNext(), at), state);
}

static Emitter::Values clipFactor(ClipFactorOp op, Emitter &e,
                                  const Position &at) {
  ImplicitLocOpBuilder &b = e.builder();
  Value norm = math::SqrtOp::create(b, e.emit(op.getSum(), at));
  Value unscale = op.getUnscale() ? e.emit(op.getUnscale(), at) : Value();
  if (unscale)
    norm = arith::MulFOp::create(b, norm, unscale);
  auto c = [&](double value) { return e.constantLike(norm, value); };
  Value factor = c(1);
  if (std::optional<APFloat> maxNorm = op.getMaxNorm()) {
    Value ratio =
        arith::DivFOp::create(b, c(maxNorm->convertToDouble()),
                              arith::AddFOp::create(b, norm, c(1e-6)));
    Value below =
        arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, ratio, factor);
    factor = arith::SelectOp::create(b, below, ratio, factor);
  }
  if (unscale)
    factor = arith::MulFOp::create(b, factor, unscale);
  Value finite = arith::CmpFOp::create(
      b, arith::CmpFPredicate::OLT, math::AbsFOp::create(b, norm),
      c(std::numeric_limits<double>::infinity()));
  factor = arith::SelectOp::create(b, finite, factor,
                                   c(std::numeric_limits<double>::quiet_NaN()));
  return {factor, norm};
}

void populateOptimizerRules(Rules &rules) {
  rules.flatMap<AdamWOp>(adamw);
  rules.flatMap<SgdOp>(sgd);
  rules.flatMap<EmaOp>(ema);
  rules.flatMap<AdoptOp>(adopt);
  rules.flatMap<ClipFactorOp>(clipFactor);
}

} // namespace tts::kernels
