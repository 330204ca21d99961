//===- Dropout.cpp - counter-based random masks ---------------------------===//
//
// Philox4x32-10 (Salmon et al., SC'11), on 8 counters at a time where the
// channels are the chunk (4 channels a counter) or on 32 where time is.
//
//===----------------------------------------------------------------------===//

#include "Philox.h"
#include "Rules.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"

using namespace mlir;

namespace tts::kernels {

/// The 32-bit draw of the element (or of each lane) at a position.
static Value drawAt(DropoutOp op, Emitter &e, const Position &at) {
  ImplicitLocOpBuilder &b = e.builder();
  Philox philox(e);
  Value seed = e.emitScalar(op.getDraw(), e.index(0));
  Value update = e.emitScalar(op.getDraw(), e.index(1));
  Value utterance = e.emitScalar(op.getUtterances(), at.leading.front());
  Value key = philox.key(seed, op.getStream());

  bool hasChannels = op.getType().getRank() == 3;
  bool lanesAreTime = at.chunk && !hasChannels;
  bool lanesAreChannels = at.chunk && hasChannels;
  Value time =
      lanesAreTime ? e.iota(e.toI32(e.column())) : e.toI32(at.leading[1]);
  Value channel = e.integer(b.getI32Type(), 0);
  if (hasChannels)
    channel = e.toI32(at.chunk ? e.column() : at.leading[2]);
  Value quad = arith::ShRUIOp::create(b, channel, e.integer(b.getI32Type(), 2));
  if (lanesAreChannels)
    quad = e.iota(quad, kLanes / 4);
  Value like = lanesAreTime ? time : quad;
  Philox::Words words =
      philox.draw({e.shapedLike(philox.low(update), like),
                   e.shapedLike(philox.low(utterance), like),
                   e.shapedLike(time, like), e.shapedLike(quad, like)},
                  key);
  if (lanesAreChannels)
    return philox.interleave(words);
  if (!hasChannels)
    return words[0];
  Value word = arith::AndIOp::create(b, channel, e.integer(b.getI32Type(), 3));
  Value draw = words[3];
  for (int i = 2; i >= 0; --i) {
    Value is = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, word,
                                     e.integer(b.getI32Type(), i));
    draw = arith::SelectOp::create(b, is, words[i], draw);
  }
  return draw;
}

void populateDropoutRules(Rules &rules) {
  rules.map<DropoutOp>(
      [](DropoutOp op, Emitter &e, const Position &at) -> Value {
        ImplicitLocOpBuilder &b = e.builder();
        double rate = op.getRate().convertToDouble();
        Philox philox(e);
        Value draw = drawAt(op, e, at);
        Value kept = philox.isKept(draw, rate);
        Value x = e.shapedLike(e.emit(op.getX(), at), draw);
        Value scaled =
            arith::MulFOp::create(b, x, e.constantLike(x, 1 / (1 - rate)));
        return arith::SelectOp::create(b, kept, scaled, e.constantLike(x, 0));
      });
}

} // namespace tts::kernels
