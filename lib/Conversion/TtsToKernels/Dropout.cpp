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

  Value exclusiveOr(Value x, Value y) {
    return arith::XOrIOp::create(b, x, y);
  }
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

  /// High and low word of a product with a constant.
  std::pair<Value, Value> multiply(Value x, uint32_t factor) {
    Type wide = b.getI64Type();
    if (auto vector = dyn_cast<VectorType>(x.getType()))
      wide = VectorType::get(vector.getShape(), wide);
    Value product =
        arith::MulIOp::create(b, arith::ExtUIOp::create(b, wide, x),
                              e.integer(wide, int64_t(factor)));
    return {truncate(shiftRight(product, 32)), truncate(product)};
  }

  /// Ten rounds over counters of one shape; the key is two scalars.
  Words draw(Words c, Value key0, Value key1) {
    Value step0 = e.integer(b.getI32Type(), 0x9e3779b9);
    Value step1 = e.integer(b.getI32Type(), 0xbb67ae85);
    for (int round = 0; round < 10; ++round) {
      if (round > 0) {
        key0 = arith::AddIOp::create(b, key0, step0);
        key1 = arith::AddIOp::create(b, key1, step1);
      }
      auto [high0, low0] = multiply(c[0], 0xd2511f53);
      auto [high1, low1] = multiply(c[2], 0xcd9e8d57);
      c = {exclusiveOr(exclusiveOr(high1, c[1]), e.shapedLike(key0, high1)),
           low1,
           exclusiveOr(exclusiveOr(high0, c[3]), e.shapedLike(key1, high0)),
           low0};
    }
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
  Value time = lanesAreTime ? e.iota(e.toI32(e.column()))
                            : e.toI32(at.leading[1]);
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
      low32(key), low32(philox.shiftRight(key, 32)));
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
  rules.map<DropoutOp>([](DropoutOp op, Emitter &e, const Position &at) -> Value {
    ImplicitLocOpBuilder &b = e.builder();
    double rate = op.getRate().convertToDouble();
    Value draw = drawAt(op, e, at);
    Value threshold =
        e.integer(draw.getType(), int64_t(std::floor(rate * 4294967296.0)));
    Value kept = arith::CmpIOp::create(b, arith::CmpIPredicate::uge, draw,
                                       threshold);
    Value x = e.shapedLike(e.emit(op.getX(), at), draw);
    Value scaled =
        arith::MulFOp::create(b, x, e.constantLike(x, 1 / (1 - rate)));
    return arith::SelectOp::create(b, kept, scaled, e.constantLike(x, 0));
  });
}

} // namespace tts::kernels
