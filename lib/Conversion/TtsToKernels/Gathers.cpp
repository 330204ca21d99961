//===- Gathers.cpp - rules of tables: embedding, bucketize, sinusoid ------===//

#include "Rules.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"

using namespace mlir;

namespace tts::kernels {

/// Whether an id names a row of a table (a negative one is a large one).
static Value isInside(Emitter &e, Value id, int64_t rows) {
  return arith::CmpIOp::create(e.builder(), arith::CmpIPredicate::ult, id,
                               e.integer(id.getType(), rows));
}

static Value embedding(EmbeddingOp op, Emitter &e, const Position &at) {
  ArrayRef<Value> indices(at.leading);
  Value id = at.chunk ? e.emit(op.getIds(), at.ofRow())
                      : e.emitScalar(op.getIds(), indices.drop_back());
  int64_t rows = cast<RankedTensorType>(op.getTable().getType()).getDimSize(0);
  id = arith::SelectOp::create(e.builder(), isInside(e, id, rows), id,
                               e.integer(id.getType(), 0));
  Position row;
  row.leading.push_back(e.toIndex(id));
  row.chunk = at.chunk;
  if (!at.chunk)
    row.leading.push_back(indices.back());
  return e.emit(op.getTable(), row);
}

/// One task per chunk of columns walks all ids in order: no two tasks meet.
static void embeddingGrad(EmbeddingGradOp op, Emitter &e) {
  ImplicitLocOpBuilder &b = e.builder();
  auto table = cast<RankedTensorType>(op.getDtable().getType());
  auto dy = cast<RankedTensorType>(op.getDy().getType());
  Value zero = e.index(0), rows = e.index(table.getDimSize(0));
  auto rowOfTable = [](Value row) {
    Position at;
    at.leading.push_back(row);
    at.chunk = true;
    return at;
  };
  auto start = [&](Value row, ValueRange) {
    Position at = rowOfTable(row);
    Value first = op.getAcc() ? e.emitLanes(op.getAcc(), at)
                              : e.splat(e.constant(table.getElementType(), 0));
    e.store(op.getDtable(), first, at);
    return Emitter::Values();
  };
  auto addOne = [&](Value number, ValueRange) {
    Position from = e.rowPosition(number, dy.getShape());
    Value id = e.emit(op.getIds(), from.ofRow());
    auto branch = scf::IfOp::create(b, isInside(e, id, table.getDimSize(0)),
                                    /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    Position to = rowOfTable(e.toIndex(id));
    Value sum = arith::AddFOp::create(b, e.reload(op.getDtable(), to),
                                      e.emitLanes(op.getDy(), from));
    e.store(op.getDtable(), sum, to);
    return Emitter::Values();
  };
  e.rangeOfChunks(table.getDimSize(1), /*hoist=*/false, [&] {
    if (!op.getAcc() || !e.sharesStorage(op.getDtable(), op.getAcc()))
      e.loop(zero, rows, {}, start);
    int64_t ids = ShapedType::getNumElements(dy.getShape().drop_back());
    e.loop(zero, e.index(ids), {}, addOne);
  });
}

static Value bucketize(BucketizeOp op, Emitter &e, const Position &at) {
  ImplicitLocOpBuilder &b = e.builder();
  Value x = e.emit(op.getX(), at);
  int64_t boundaries =
      cast<RankedTensorType>(op.getBoundaries().getType()).getDimSize(0);
  Value none = e.shapedLike(e.integer(b.getI32Type(), 0), x);
  return e
      .loop(e.index(0), e.index(boundaries), none,
            [&](Value i, ValueRange so_far) -> Emitter::Values {
              Value boundary =
                  e.shapedLike(e.emitScalar(op.getBoundaries(), i), x);
              Value below = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT,
                                                  boundary, x);
              Value one = arith::ExtUIOp::create(b, none.getType(), below);
              return {arith::AddIOp::create(b, so_far[0], one)};
            })
      .front();
}

/// t / 10000^(2i/C) in f64, i a channel pair or several, t in f64.
static Value angle(Emitter &e, Value time, Value pair, int64_t channels) {
  ImplicitLocOpBuilder &b = e.builder();
  Type f64 = b.getF64Type();
  Value i = e.convertFloat(pair, f64);
  Value exponent = arith::DivFOp::create(
      b, arith::MulFOp::create(b, e.constantLike(i, 2), i),
      e.constantLike(i, double(channels)));
  Value period = math::PowFOp::create(b, e.constantLike(i, 10000), exponent);
  return arith::DivFOp::create(b, e.shapedLike(time, period), period);
}

/// The channels at `at` of a [place, channel] result for one place, in f64.
static Value sinusoidOf(Value place, RankedTensorType type, Emitter &e,
                        const Position &at) {
  ImplicitLocOpBuilder &b = e.builder();
  Value one = e.integer(b.getI64Type(), 1);
  Value channel = e.toI64(at.chunk ? e.column() : at.leading[1]);
  Value pair = arith::ShRUIOp::create(b, channel, one);
  if (at.chunk)
    pair = e.iota(pair, kLanes / 2);
  Value a = angle(e, place, pair, type.getDimSize(1));
  Value sine = math::SinOp::create(b, a), cosine = math::CosOp::create(b, a);
  Value both;
  if (at.chunk) {
    both = vector::InterleaveOp::create(b, sine, cosine);
  } else {
    Value odd = arith::TruncIOp::create(b, b.getI1Type(), channel);
    both = arith::SelectOp::create(b, odd, cosine, sine);
  }
  return e.convertFloat(both, type.getElementType());
}

static Value sinusoid(SinusoidOp op, Emitter &e, const Position &at) {
  Value time = e.toI64(at.leading[0]);
  return sinusoidOf(e.convertFloat(time, e.builder().getF64Type()),
                    op.getType(), e, at);
}

static Value sinusoidAt(SinusoidAtOp op, Emitter &e, const Position &at) {
  Value x = e.convertFloat(e.emitScalar(op.getX(), at.leading[0]),
                           e.builder().getF64Type());
  Value scale = e.constantLike(x, op.getScale().convertToDouble());
  return sinusoidOf(arith::MulFOp::create(e.builder(), scale, x), op.getType(),
                    e, at);
}

void populateGatherRules(Rules &rules) {
  rules.map<EmbeddingOp>(embedding);
  rules.map<SinusoidOp>(sinusoid);
  rules.map<SinusoidAtOp>(sinusoidAt);
  rules.flatMap<BucketizeOp>(bucketize);
  rules.whole<EmbeddingGradOp>(embeddingGrad);
}

} // namespace tts::kernels
