//===- Shapes.cpp - rules of broadcast, full, parts, swap, mask ----------===//

#include "Rules.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"

using namespace mlir;

namespace tts::kernels {

/// The position in the operand of a broadcast of what the result holds at `at`.
static Position underBroadcast(BroadcastOp op, const Position &at) {
  Position inner;
  if (at.flat)
    return inner; // one number: nothing else is flat
  int64_t last = op.getType().getRank() - 1;
  // Dimensions ascend: so many below the last are all of them.
  if (at.chunk && int64_t(op.getDims().size()) == last &&
      op.getDims().back() != last)
    return at.ofRow();
  for (int64_t dim : op.getDims()) {
    if (at.chunk && dim == last)
      inner.chunk = true;
    else
      inner.leading.push_back(at.leading[dim]);
  }
  return inner;
}

static int64_t lastDim(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape().back();
}

/// Row by row, part after part: `move` gets the position in the part and the
/// one in the whole tensor.
static void forEachPart(
    Emitter &e, Value whole, ValueRange parts,
    llvm::function_ref<void(Value, const Position &, const Position &)> move) {
  auto type = cast<RankedTensorType>(whole.getType());
  e.rangeOfRows(type.getShape(), [&](const Position &row) {
    Position inWhole = row;
    for (Value part : parts) {
      e.chunks(lastDim(part), {}, [&](ValueRange) {
        move(part, row, inWhole);
        return Emitter::Values();
      });
      inWhole.shift += lastDim(part);
    }
  });
}

static void concat(ConcatOp op, Emitter &e) {
  forEachPart(e, op.getY(), op.getParts(),
              [&](Value part, const Position &at, const Position &inWhole) {
                e.store(op.getY(), e.emitLanes(part, at), inWhole);
              });
}

static void split(SplitOp op, Emitter &e) {
  forEachPart(e, op.getX(), op.getParts(),
              [&](Value part, const Position &at, const Position &inWhole) {
                e.store(part, e.emitLanes(op.getX(), inWhole), at);
              });
}

void populateShapeRules(Rules &rules) {
  rules.exact<BroadcastOp, MaskOp>();
  rules.whole<ConcatOp>(concat);
  rules.whole<SplitOp>(split);
  rules.flatMap<FullOp>([](FullOp op, Emitter &e, const Position &) -> Value {
    return e.constant(e.computeTypeOf(op.getY()),
                      op.getValue().convertToDouble());
  });
  rules.map<BroadcastOp>([](BroadcastOp op, Emitter &e, const Position &at) {
    return e.emit(op.getX(), underBroadcast(op, at));
  });
  rules.map<SwapMiddleOp>([](SwapMiddleOp op, Emitter &e, const Position &at) {
    Position from;
    from.leading.assign(at.leading.begin(), at.leading.end());
    std::swap(from.leading[1], from.leading[2]);
    from.chunk = at.chunk;
    return e.emit(op.getX(), from);
  });
  // A select, not a product: what is not finite in the padding becomes 0 too.
  rules.map<MaskOp>([](MaskOp op, Emitter &e, const Position &at) -> Value {
    Value valid = e.isValidTime(op.getLengths(), at);
    Value x = e.shapedLike(e.emit(op.getX(), at), valid);
    return arith::SelectOp::create(e.builder(), valid, x, e.constantLike(x, 0));
  });
}

} // namespace tts::kernels
