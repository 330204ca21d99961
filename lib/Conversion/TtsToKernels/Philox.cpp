//===- Philox.cpp - counter-based random words ----------------------------===//

#include "Philox.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <cmath>

using namespace mlir;

namespace tts::kernels {

static uint64_t fnv1a(StringRef text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (unsigned char byte : text.bytes())
    hash = (hash ^ byte) * 0x100000001b3;
  return hash;
}

static Type withElement(Type like, Type element) {
  if (auto vector = dyn_cast<VectorType>(like))
    return VectorType::get(vector.getShape(), element);
  return element;
}

Value Philox::exclusiveOr(Value x, Value y) {
  return arith::XOrIOp::create(b, x, y);
}

Value Philox::shiftRight(Value x, int64_t bits) {
  return arith::ShRUIOp::create(b, x, e.integer(x.getType(), bits));
}

Value Philox::low(Value x) {
  return arith::TruncIOp::create(b, withElement(x.getType(), b.getI32Type()),
                                 x);
}

Value Philox::widen(Value x) {
  return arith::ExtUIOp::create(b, withElement(x.getType(), b.getI64Type()), x);
}

/// Mixes a 64-bit seed (Steele et al., OOPSLA'14, as splitmix64).
Value Philox::splitmix(Value seed) {
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

Value Philox::key(Value seed, StringRef stream) {
  return exclusiveOr(splitmix(seed),
                     e.integer(b.getI64Type(), int64_t(fnv1a(stream))));
}

/// The product of the low words of 64-bit lanes with a constant.
Value Philox::multiply(Value x, uint32_t factor) {
  Value low = arith::AndIOp::create(b, x, e.integer(x.getType(), 0xffffffff));
  return arith::MulIOp::create(b, low, e.integer(x.getType(), int64_t(factor)));
}

/// Ten rounds. Words stay in 64-bit lanes whose high halves do not matter: a
/// product is then one instruction and nothing is narrowed or widened in
/// between.
Philox::Words Philox::draw(Words c, Value key) {
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
  llvm::for_each(c, [&](Value &word) { word = low(word); });
  return c;
}

std::pair<Value, Value> Philox::seedAndUpdate(Value draw) {
  if (!draw)
    return {e.integer(b.getI64Type(), 0), e.integer(b.getI64Type(), 0)};
  return {e.emitScalar(draw, e.index(0)), e.emitScalar(draw, e.index(1))};
}

Value Philox::fraction(Value word) {
  Value whole = e.convertFloat(shiftRight(word, 8), b.getF64Type());
  return arith::MulFOp::create(b, whole,
                               e.constantLike(whole, 1.0 / (1 << 24)));
}

/// Where the channels are the chunk, 8 counters give 4 of them each; where time
/// is, every lane has a counter.
Value Philox::element(Value draw, Value utterances, StringRef stream,
                      int64_t rank, const Position &at) {
  auto [seed, update] = seedAndUpdate(draw);
  Value utterance = e.emitScalar(utterances, at.leading.front());
  Value key = this->key(seed, stream);

  bool hasChannels = rank == 3;
  bool lanesAreTime = at.chunk && !hasChannels;
  bool lanesAreChannels = at.chunk && hasChannels;
  Value time =
      lanesAreTime ? e.iota(e.toI32(e.column())) : e.toI32(at.leading[1]);
  Value channel = e.integer(b.getI32Type(), 0);
  if (hasChannels)
    channel = e.toI32(at.chunk ? e.column() : at.leading[2]);
  Value quad = shiftRight(channel, 2);
  if (lanesAreChannels)
    quad = e.iota(quad, kLanes / 4);
  Value like = lanesAreTime ? time : quad;
  Words words = this->draw({e.shapedLike(low(update), like),
                            e.shapedLike(low(utterance), like),
                            e.shapedLike(time, like), e.shapedLike(quad, like)},
                           key);
  if (lanesAreChannels)
    return interleave(words);
  if (!hasChannels)
    return words[0];
  Value word = arith::AndIOp::create(b, channel, e.integer(b.getI32Type(), 3));
  Value drawn = words[3];
  for (int i = 2; i >= 0; --i) {
    Value is = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, word,
                                     e.integer(b.getI32Type(), i));
    drawn = arith::SelectOp::create(b, is, words[i], drawn);
  }
  return drawn;
}

Value Philox::interleave(const Words &words) {
  auto two = [&](Value x, Value y) -> Value {
    return vector::InterleaveOp::create(b, x, y);
  };
  return two(two(words[0], words[2]), two(words[1], words[3]));
}

Value Philox::isKept(Value draw, double rate) {
  Value threshold =
      e.integer(draw.getType(), int64_t(std::floor(rate * 4294967296.0)));
  return arith::CmpIOp::create(b, arith::CmpIPredicate::uge, draw, threshold);
}

} // namespace tts::kernels
