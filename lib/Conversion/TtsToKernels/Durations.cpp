//===- Durations.cpp - rules of the length regulator ----------------------===//

#include "Rules.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"

using namespace mlir;

namespace tts::kernels {

static Position at(Value batch, Value time) {
  Position position;
  position.leading = {batch, time};
  position.chunk = true;
  return position;
}

/// Where phone `phone` ends that starts at frame `start`: no later than
/// `frames`; a negative duration counts as 0.
static Value endOf(Emitter &e, Value durations, Value batch, Value phone,
                   Value start, int64_t frames) {
  ImplicitLocOpBuilder &b = e.builder();
  Value duration = e.toIndex(e.emitScalar(durations, {batch, phone}));
  duration = arith::MaxSIOp::create(b, duration, e.index(0));
  Value end = arith::AddIOp::create(b, start, duration);
  return arith::MinSIOp::create(b, end, e.index(frames));
}

/// One task per utterance; `each(batch, phone, start, end)` in order. Returns
/// the frame after the last phone.
static Value forPhones(Emitter &e, Value durations, Value batch, int64_t frames,
                       llvm::function_ref<void(Value, Value, Value)> each) {
  int64_t phones = cast<RankedTensorType>(durations.getType()).getDimSize(1);
  return e
      .loop(e.index(0), e.index(phones), e.index(0),
            [&](Value phone, ValueRange carried) -> Emitter::Values {
              Value end = endOf(e, durations, batch, phone, carried[0], frames);
              each(phone, carried[0], end);
              return {end};
            })
      .front();
}

static void lengthRegulate(LengthRegulateOp op, Emitter &e) {
  auto type = cast<RankedTensorType>(op.getY().getType());
  int64_t frames = type.getDimSize(1), channels = type.getDimSize(2);
  e.range = type.getDimSize(0);
  e.loop(e.lo, e.hi, {}, [&](Value batch, ValueRange) {
    auto copyPhone = [&](Value phone, Value start, Value end) {
      e.loop(start, end, {}, [&](Value time, ValueRange) {
        return e.chunks(channels, {}, [&](ValueRange) {
          e.store(op.getY(), e.emitLanes(op.getX(), at(batch, phone)),
                  at(batch, time));
          return Emitter::Values();
        });
      });
    };
    Value end = forPhones(e, op.getDurations(), batch, frames, copyPhone);
    e.loop(end, e.index(frames), {}, [&](Value time, ValueRange) {
      return e.chunks(channels, {}, [&](ValueRange) {
        e.store(op.getY(), e.constant(e.computeTypeOf(op->getResult(0)), 0),
                at(batch, time));
        return Emitter::Values();
      });
    });
    return Emitter::Values();
  });
}

static void lengthRegulateGrad(LengthRegulateGradOp op, Emitter &e) {
  auto type = cast<RankedTensorType>(op.getDx().getType());
  int64_t channels = type.getDimSize(2);
  int64_t frames = cast<RankedTensorType>(op.getDy().getType()).getDimSize(1);
  e.range = type.getDimSize(0);
  e.loop(e.lo, e.hi, {}, [&](Value batch, ValueRange) {
    auto sumPhone = [&](Value phone, Value start, Value end) {
      e.chunks(channels, {}, [&](ValueRange) {
        Value zero = e.splat(e.constant(e.computeTypeOf(op->getResult(0)), 0));
        Value sum =
            e.loop(start, end, zero, [&](Value time, ValueRange so_far) {
               Value lanes = e.emitLanes(op.getDy(), at(batch, time));
               return Emitter::Values{
                   arith::AddFOp::create(e.builder(), so_far[0], lanes)};
             }).front();
        e.store(op.getDx(), sum, at(batch, phone));
        return Emitter::Values();
      });
    };
    forPhones(e, op.getDurations(), batch, frames, sumPhone);
    return Emitter::Values();
  });
}

void populateDurationRules(Rules &rules) {
  rules.whole<LengthRegulateOp>(lengthRegulate);
  rules.whole<LengthRegulateGradOp>(lengthRegulateGrad);
}

} // namespace tts::kernels
