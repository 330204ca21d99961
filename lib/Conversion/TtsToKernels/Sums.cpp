//===- Sums.cpp - sums in their one canonical order -----------------------===//

#include "Sums.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tts::kernels {

using Values = Emitter::Values;

/// Rows that are added at the same time, each into lanes of its own.
static constexpr int64_t kRowLanes = 8;

static Value add(Emitter &e, Value x, Value y) {
  return arith::AddFOp::create(e.builder(), x, y);
}

static Value zeroLanes(Emitter &e, Type element) {
  return e.constant(VectorType::get({kLanes}, element), 0);
}

Values sumRow(Emitter &e, int64_t columns, Type element, size_t count,
              llvm::function_ref<Values()> terms) {
  Values sums = e.chunks(
      columns, Values(count, zeroLanes(e, element)), [&](ValueRange so_far) {
        Values next;
        for (auto [sum, term] : llvm::zip_equal(so_far, terms()))
          next.push_back(add(e, sum, e.zeroInactive(e.lanesOf(term))));
        return next;
      });
  for (Value &sum : sums)
    sum = e.sumLanes(sum);
  return sums;
}

/// Adds the terms of the columns at `at` into the lanes of `sum`.
static Value addRow(Emitter &e, int64_t columns, Value sum, const Position &at,
                    Term term) {
  auto body = [&](ValueRange carried) -> Values {
    return {add(e, carried[0], e.zeroInactive(e.lanesOf(term(at))))};
  };
  return e.chunks(columns, sum, body).front();
}

Value sumRows(Emitter &e, Value first, int64_t rows, ArrayRef<int64_t> shape,
              Type element, Term term) {
  ImplicitLocOpBuilder &b = e.builder();
  Value zero = zeroLanes(e, element);
  if (rows == 1)
    return e.sumLanes(
        addRow(e, shape.back(), zero, e.rowPosition(first, shape), term));
  Value last = b.createOrFold<arith::AddIOp>(first, e.index(rows));
  Values sum = e.loop(first, last, zero, [&](Value row, ValueRange carried) {
    return Values{
        addRow(e, shape.back(), carried[0], e.rowPosition(row, shape), term)};
  });
  return e.sumLanes(sum.front());
}

Value sumAll(Emitter &e, ArrayRef<int64_t> shape, bool flat, Type element,
             Term term) {
  int64_t elements = ShapedType::getNumElements(shape);
  if (shape.empty())
    return term(Position());
  if (!flat)
    return sumRows(e, e.index(0), elements / shape.back(), shape, element,
                   term);
  Position at;
  at.chunk = at.flat = true;
  return e.sumLanes(addRow(e, elements, zeroLanes(e, element), at, term));
}

Value sumElements(Emitter &e, Value elements, Type element, Term term) {
  Position at;
  at.chunk = at.flat = true;
  Values sum = e.chunksBetween(
      e.index(0), elements, zeroLanes(e, element), [&](ValueRange so_far) {
        Value lanes = e.zeroInactive(e.lanesOf(term(at)));
        return Values{add(e, so_far[0], lanes)};
      });
  return e.sumLanes(sum.front());
}

Value sumColumns(Emitter &e, ArrayRef<int64_t> shape, Type element, Term term) {
  int64_t rows = ShapedType::getNumElements(shape.drop_back());
  int64_t lanes = std::min(rows, kRowLanes);
  Values sums(lanes, zeroLanes(e, element));
  auto addRows = [&](Value first, ValueRange so_far, int64_t count) {
    Values next(so_far);
    for (int64_t i = 0; i < count; ++i) {
      Value row = e.offset(first, e.index(i), 1);
      Value lanes = e.lanesOf(term(e.rowPosition(row, shape)));
      next[i] = add(e, next[i], lanes);
    }
    return next;
  };
  int64_t blocks = rows / lanes;
  sums = e.loop(e.index(0), e.index(blocks), sums,
                [&](Value block, ValueRange carried) {
                  return addRows(e.offset({}, block, lanes), carried, lanes);
                });
  sums = addRows(e.index(blocks * lanes), sums, rows % lanes);
  for (int64_t width = lanes; width > 1; width = (width + 1) / 2)
    for (int64_t i = 0; i + (width + 1) / 2 < width; ++i)
      sums[i] = add(e, sums[i], sums[i + (width + 1) / 2]);
  return sums.front();
}

} // namespace tts::kernels
