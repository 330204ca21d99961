//===- Softmax.cpp - rules of softmax over valid keys, with dropout -------===//

#include "Philox.h"
#include "Rules.h"
#include "Sums.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"
#include <limits>

using namespace mlir;

namespace tts::kernels {

namespace {
/// Which query and which of all heads the row at `at` is: the heads of a group
/// stand side by side under each query.
template <typename OpT> struct Row {
  Row(OpT op, Emitter &e, const Position &at)
      : query(at.leading[2]), head(at.leading[1]) {
    if (int64_t group = op.getGroup(); group > 1) {
      Value member = arith::RemUIOp::create(e.builder(), query, e.index(group));
      query = arith::DivUIOp::create(e.builder(), query, e.index(group));
      head = e.offset(member, head, group);
    }
    query = e.offset(e.index(op.getFirstQuery()), query, 1);
  }
  Value query, head;
};

/// The valid keys of a row: those below the length and, if causal, not behind
/// the query. Their number is at most that of the columns, so that lanes
/// beyond the last column are not valid either.
struct Keys {
  Keys(KeySoftmaxOp op, Emitter &e, const Position &at, int64_t columns)
      : e(e), count(e.emitScalar(op.getLengths(), at.leading[0])) {
    atMost(e.integer(count.getType(), columns));
    if (op.getCausal())
      atMost(
          e.toI32(e.offset(e.index(1), Row<KeySoftmaxOp>(op, e, at).query, 1)));
  }

  Value valid() {
    Value keys = e.iota(e.toI32(e.column()));
    return arith::CmpIOp::create(e.builder(), arith::CmpIPredicate::slt, keys,
                                 e.splat(count));
  }
  Value select(Value lanes, double otherwise) {
    return arith::SelectOp::create(e.builder(), valid(), lanes,
                                   e.constantLike(lanes, otherwise));
  }

private:
  void atMost(Value limit) {
    count = arith::MinSIOp::create(e.builder(), count, limit);
  }

  Emitter &e;
  Value count;
};

/// The dropout of a row's probabilities.
template <typename OpT> class Dropping {
public:
  Dropping(OpT op, Emitter &e, const Position &at) : op(op), e(e), philox(e) {
    if (!op.getDraw())
      return;
    key = philox.key(e.emitScalar(op.getDraw(), e.index(0)), *op.getStream());
    update = philox.low(e.emitScalar(op.getDraw(), e.index(1)));
    utterance = philox.low(e.emitScalar(op.getUtterances(), at.leading[0]));
    Row<OpT> row(op, e, at);
    query = e.toI32(row.query);
    head = e.toI32(e.offset({}, row.head, int64_t(1) << 24));
  }

  /// Whether the keys of the current chunk are kept; a chunk starts at a
  /// multiple of 32.
  Value kept() {
    ImplicitLocOpBuilder &b = e.builder();
    Value quad = arith::ShRUIOp::create(b, e.toI32(e.column()),
                                        e.integer(b.getI32Type(), 2));
    Value quads = e.iota(arith::AddIOp::create(b, head, quad), kLanes / 4);
    Philox::Words words = philox.draw({e.shapedLike(update, quads),
                                       e.shapedLike(utterance, quads),
                                       e.shapedLike(query, quads), quads},
                                      key);
    return philox.isKept(philox.interleave(words), rate());
  }

  /// lanes / (1 - rate) where kept, else 0.
  Value drop(Value lanes, Value kept) {
    Value scaled = arith::MulFOp::create(
        e.builder(), lanes, e.constantLike(lanes, 1 / (1 - rate())));
    return arith::SelectOp::create(e.builder(), kept, scaled,
                                   e.constantLike(lanes, 0));
  }

private:
  double rate() { return op.getRate()->convertToDouble(); }

  OpT op;
  Emitter &e;
  Philox philox;
  Value key, update, utterance, query, head;
};
} // namespace

static Value larger(Emitter &e, Value x, Value y) {
  Value is =
      arith::CmpFOp::create(e.builder(), arith::CmpFPredicate::OGT, x, y);
  return arith::SelectOp::create(e.builder(), is, x, y);
}

static void keySoftmax(KeySoftmaxOp op, Emitter &e) {
  ImplicitLocOpBuilder &b = e.builder();
  auto type = cast<RankedTensorType>(op.getScores().getType());
  int64_t columns = type.getShape().back();
  Type element = e.computeTypeOf(op.getScores());
  double scale = op.getScale().convertToDouble();
  double lowest = -std::numeric_limits<double>::infinity();
  e.rangeOfRows(type.getShape(), [&](const Position &at) {
    Keys keys(op, e, at, columns);
    Dropping<KeySoftmaxOp> dropping(op, e, at);
    auto scores = [&]() -> Value {
      Value lanes = e.emitLanes(op.getScores(), at);
      return arith::MulFOp::create(b, e.constantLike(lanes, scale), lanes);
    };
    Value low = e.constant(VectorType::get({kLanes}, element), lowest);
    Value highest = e.chunks(columns, low, [&](ValueRange so_far) {
                       return Emitter::Values{
                           larger(e, keys.select(scores(), lowest), so_far[0])};
                     }).front();
    highest = e.combineLanes(highest,
                             [&](Value x, Value y) { return larger(e, x, y); });
    // The exponentials stand in the result until their sum is known.
    Value sum =
        sumRow(e, columns, element, 1, [&] {
          Value shifted = arith::SubFOp::create(b, scores(), e.splat(highest));
          Value exponential = keys.select(math::ExpOp::create(b, shifted), 0);
          e.store(op.getProbabilities(), exponential, at);
          return Emitter::Values{exponential};
        }).front();
    e.chunks(columns, {}, [&](ValueRange) {
      Value exponential = e.reload(op.getProbabilities(), at);
      Value share = arith::DivFOp::create(b, exponential, e.splat(sum));
      if (op.getDraw())
        share = dropping.drop(share, dropping.kept());
      share = keys.select(share, 0);
      e.store(op.getProbabilities(), share, at);
      if (op.getNarrow())
        e.store(op.getNarrow(), share, at);
      return Emitter::Values();
    });
  });
}

/// One bit per lane: whether its sign is set, of zeros as well.
static Value isNegative(Emitter &e, Value lanes) {
  ImplicitLocOpBuilder &b = e.builder();
  auto type = cast<VectorType>(lanes.getType());
  auto bits = VectorType::get(type.getShape(),
                              b.getIntegerType(type.getElementTypeBitWidth()));
  return arith::CmpIOp::create(b, arith::CmpIPredicate::slt,
                               arith::BitcastOp::create(b, bits, lanes),
                               e.integer(bits, 0));
}

static Value productOf(Emitter &e, Value x, Value y) {
  return arith::MulFOp::create(e.builder(), x, y);
}

/// scale · p · (dp - sum) of the current chunk.
static Value scoreGradient(KeySoftmaxGradOp op, Emitter &e, Value p, Value dp,
                           Value sum) {
  Value scale = e.constantLike(p, op.getScale().convertToDouble());
  Value centred = arith::SubFOp::create(e.builder(), dp, e.splat(sum));
  return productOf(e, productOf(e, scale, p), centred);
}

/// Stores both results of the current chunk wherever they are wanted.
static void storeGradient(KeySoftmaxGradOp op, Emitter &e, Value dscores,
                          Value dropped, const Position &at) {
  e.store(op.getDscores(), dscores, at);
  if (op.getDropped())
    e.store(op.getDropped(), dropped, at);
  if (!op.getNarrowDscores())
    return;
  e.store(op.getNarrowDscores(), dscores, at);
  e.store(op.getNarrowDropped(), dropped, at);
}

static void keySoftmaxGrad(KeySoftmaxGradOp op, Emitter &e) {
  auto type = cast<RankedTensorType>(op.getProbabilities().getType());
  int64_t columns = type.getShape().back();
  e.rangeOfRows(type.getShape(), [&](const Position &at) {
    auto p = [&] { return e.emitLanes(op.getProbabilities(), at); };
    auto dp = [&] { return e.emitLanes(op.getDprobabilities(), at); };
    Value sum =
        sumRow(e, columns, e.computeTypeOf(op.getProbabilities()), 1, [&] {
          return Emitter::Values{productOf(e, p(), dp())};
        }).front();
    e.chunks(columns, {}, [&](ValueRange) {
      storeGradient(op, e, scoreGradient(op, e, p(), dp(), sum), p(), at);
      return Emitter::Values();
    });
  });
}

/// Probabilities are not negative: between the two passes over a row the sign
/// of each says that it was dropped, so its number is drawn once.
static void droppedKeySoftmaxGrad(KeySoftmaxGradOp op, Emitter &e) {
  ImplicitLocOpBuilder &b = e.builder();
  auto type = cast<RankedTensorType>(op.getProbabilities().getType());
  int64_t columns = type.getShape().back();
  e.rangeOfRows(type.getShape(), [&](const Position &at) {
    Dropping<KeySoftmaxGradOp> dropping(op, e, at);
    Value sum =
        sumRow(e, columns, e.computeTypeOf(op.getProbabilities()), 1, [&] {
          Value kept = dropping.kept();
          Value p = e.emitLanes(op.getProbabilities(), at);
          Value dp =
              dropping.drop(e.emitLanes(op.getDprobabilities(), at), kept);
          Value negative = arith::NegFOp::create(b, p);
          e.store(op.getDropped(),
                  arith::SelectOp::create(b, kept, p, negative), at);
          e.store(op.getDscores(), dp, at);
          return Emitter::Values{productOf(e, p, dp)};
        }).front();
    e.chunks(columns, {}, [&](ValueRange) {
      Value marked = e.reload(op.getDropped(), at);
      Value p = math::AbsFOp::create(b, marked);
      Value dp = e.reload(op.getDscores(), at);
      Value kept = arith::XOrIOp::create(
          b, isNegative(e, marked),
          e.integer(VectorType::get({kLanes}, b.getI1Type()), 1));
      storeGradient(op, e, scoreGradient(op, e, p, dp, sum),
                    dropping.drop(p, kept), at);
      return Emitter::Values();
    });
  });
}

void populateSoftmaxRules(Rules &rules) {
  rules.whole<KeySoftmaxOp>(keySoftmax);
  rules.whole<KeySoftmaxGradOp>([](KeySoftmaxGradOp op, Emitter &e) {
    return op.getDraw() ? droppedKeySoftmaxGrad(op, e) : keySoftmaxGrad(op, e);
  });
}

} // namespace tts::kernels
