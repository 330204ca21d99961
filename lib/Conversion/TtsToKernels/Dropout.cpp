//===- Dropout.cpp - counter-based random masks ---------------------------===//
//
// Philox4x32-10 (Salmon et al., SC'11), on 8 counters at a time where the
// channels are the chunk (4 channels a counter) or on 32 where time is.
//
//===----------------------------------------------------------------------===//

#include "Rules.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"
#include <array>
#include <cmath>

using namespace mlir;

namespace tts::kernels {

using Words = std::array<Value, 4>;

static uint64_t fnv1a(StringRef text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (unsigned char byte : text.bytes())
    hash = (hash ^ byte) * 0x100000001b3;
  return hash;
}

namespace {
/// Integer arithmetic of the generator.
struct Philox {
  Emitter &e;
  ImplicitLocOpBuilder &b;

  Value exclusiveOr(Value x, Value y) { return arith::XOrIOp::create(b, x, y); }
  Value shiftRight(Value x, int64_t bits) {
    return arith::ShRUIOp::create(b, x, e.integer(x.getType(), bits));
  }
  Value truncate(Value x) {
    Type type = b.getI32Type();
    if (auto vector = dyn_cast<VectorType>(x.getType()))
      type = VectorType::get(vector.getShape(), type);
    return arith::TruncIOp::create(b, type, x);
  }

  /// Mixes a 64-bit seed (Steele et al., OOPSLA'14, as splitmix64).
  Value splitmix(Value seed) {
    auto c = [&](uint64_t value) {
      return e.integer(seed.getType(), int64_t(value));
    };
    Value z = arith::AddIOp::create(b, seed, c(0x9e3779b97f4a7c15));
    z = exclusiveOr(z, shiftRight(z, 30));
    z = arith::MulIOp::create(b, z, c(0xbf58476d1ce4e5b9));
    z = exclusiveOr(z, shiftRight(z, 27));
    z = arith::MulIOp::create(b, z, c(0x94d049bb133111eb));
    return exclusiveOr(z, shiftRight(z, 31));
  }

  Value widen(Value x) {
    Type type = b.getI64Type();
    if (auto vector = dyn_cast<VectorType>(x.getType()))
      type = VectorType::get(vector.getShape(), type);
    return arith::ExtUIOp::create(b, type, x);
  }

  /// The product of the low words of 64-bit lanes with a constant.
  Value multiply(Value x, uint32_t factor) {
    Value low = arith::AndIOp::create(b, x, e.integer(x.getType(), 0xffffffff));
    return arith::MulIOp::create(b, low,
                                 e.integer(x.getType(), int64_t(factor)));
  }

  /// Ten rounds over counters of one shape; the key is a 64-bit scalar. Words
  /// stay in 64-bit lanes whose high halves do not matter: a product is then
  /// one instruction and nothing is narrowed or widened in between.
  Words draw(Words c, Value key) {
    llvm::for_each(c, [&](Value &word) { word = widen(word); });
    Value key0 = key, key1 = shiftRight(key, 32);
    Value step0 = e.integer(b.getI64Type(), 0x9e3779b9);
    Value step1 = e.integer(b.getI64Type(), 0xbb67ae85);
    for (int round = 0; round < 10; ++round) {
      if (round > 0) {
        key0 = arith::AddIOp::create(b, key0, step0);
        key1 = arith::AddIOp::create(b, key1, step1);
      }
      Value product0 = multiply(c[0], 0xd2511f53);
      Value product1 = multiply(c[2], 0xcd9e8d57);
      c = {exclusiveOr(exclusiveOr(shiftRight(product1, 32), c[1]),
                       e.shapedLike(key0, product1)),
           product1,
           exclusiveOr(exclusiveOr(shiftRight(product0, 32), c[3]),
                       e.shapedLike(key1, product0)),
           product0};
    }
    llvm::for_each(c, [&](Value &word) { word = truncate(word); });
    return c;
  }

  Value interleave(Value x, Value y) {
    return vector::InterleaveOp::create(b, x, y);
  }
};
} // namespace

/// The 32-bit draw of the element (or of each lane) at a position.
static Value drawAt(DropoutOp op, Emitter &e, const Position &at) {
  ImplicitLocOpBuilder &b = e.builder();
  Philox philox{e, b};
  auto low32 = [&](Value i64) { return philox.truncate(i64); };
  Value seed = e.emitScalar(op.getDraw(), e.index(0));
  Value update = e.emitScalar(op.getDraw(), e.index(1));
  Value utterance = e.emitScalar(op.getUtterances(), at.leading.front());
  Value key = philox.exclusiveOr(
      philox.splitmix(seed),
      e.integer(b.getI64Type(), int64_t(fnv1a(op.getStream()))));

  bool hasChannels = op.getType().getRank() == 3;
  bool lanesAreTime = at.chunk && !hasChannels;
  bool lanesAreChannels = at.chunk && hasChannels;
  Value time =
      lanesAreTime ? e.iota(e.toI32(e.column())) : e.toI32(at.leading[1]);
  Value channel = e.integer(b.getI32Type(), 0);
  if (hasChannels)
    channel = e.toI32(at.chunk ? e.column() : at.leading[2]);
  Value quad = philox.shiftRight(channel, 2);
  if (lanesAreChannels)
    quad = e.iota(quad, kLanes / 4);
  Value like = lanesAreTime ? time : quad;
  Words words = philox.draw(
      {e.shapedLike(low32(update), like), e.shapedLike(low32(utterance), like),
       e.shapedLike(time, like), e.shapedLike(quad, like)},
      key);
  if (lanesAreChannels)
    return philox.interleave(philox.interleave(words[0], words[2]),
                             philox.interleave(words[1], words[3]));
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
  rules.map<DropoutOp>([](DropoutOp op, Emitter &e,
                          const Position &at) -> Value {
    ImplicitLocOpBuilder &b = e.builder();
    double rate = op.getRate().convertToDouble();
    Value draw = drawAt(op, e, at);
    Value threshold =
        e.integer(draw.getType(), int64_t(std::floor(rate * 4294967296.0)));
    Value kept =
        arith::CmpIOp::create(b, arith::CmpIPredicate::uge, draw, threshold);
    Value x = e.shapedLike(e.emit(op.getX(), at), draw);
    Value scaled =
        arith::MulFOp::create(b, x, e.constantLike(x, 1 / (1 - rate)));
    return arith::SelectOp::create(b, kept, scaled, e.constantLike(x, 0));
  });
}

} // namespace tts::kernels
