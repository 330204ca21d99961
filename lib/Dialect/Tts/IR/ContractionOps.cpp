//===- ContractionOps.cpp - verifiers of contractions -------------------===//

#include "ShapeChecks.h"

using namespace mlir;
using namespace tts;

LogicalResult LinearOp::verify() {
  int64_t rank = getTensor(getX()).getRank();
  if (failed(verifyRank(*this, "x", getX(), 2, 3)) ||
      failed(verifyRank(*this, "y", getY(), rank, rank)) ||
      failed(verifySameElement(*this, "x", getX(), "w", getW())) ||
      failed(verifyWideElement(*this, "x", getX(), "y", getY())))
    return failure();
  for (int64_t i = 0; i + 1 < rank; ++i)
    if (failed(verifySameDim(*this, "x", getX(), i, "y", getY(), i)))
      return failure();
  unsigned in = getTranspose() ? 1 : 0;
  if (failed(verifySameDim(*this, "x", getX(), rank - 1, "w", getW(), in)))
    return failure();
  return verifySameDim(*this, "y", getY(), rank - 1, "w", getW(), 1 - in);
}

static LogicalResult verifyLeft(Operation *op, int64_t taps, int64_t left) {
  if (left < 0 || left >= taps)
    return op->emitOpError() << "'left' is " << left << ", expected one of the "
                             << taps << " taps";
  return success();
}

LogicalResult Conv1dOp::verify() {
  if (failed(verifyRank(*this, "x", getX(), 3, 3)) ||
      failed(verifyRank(*this, "y", getY(), 3, 3)) ||
      failed(verifySameElement(*this, "x", getX(), "w", getW())) ||
      failed(verifyWideElement(*this, "x", getX(), "y", getY())) ||
      failed(verifySameDim(*this, "x", getX(), 0, "y", getY(), 0)) ||
      failed(verifySameDim(*this, "x", getX(), 1, "y", getY(), 1)) ||
      failed(verifySameDim(*this, "y", getY(), 2, "w", getW(), 2)) ||
      failed(verifyLeft(*this, getTensor(getW()).getDimSize(0), getLeft())))
    return failure();
  if (getGroups() == 1)
    return verifySameDim(*this, "x", getX(), 2, "w", getW(), 1);
  int64_t in = getTensor(getX()).getDimSize(2), groups = getGroups();
  int64_t out = getTensor(getY()).getDimSize(2);
  if (groups < 1 || in % groups || out % groups)
    return emitOpError() << in << " and " << out
                         << " channels do not divide into " << groups
                         << " groups";
  int64_t each = getTensor(getW()).getDimSize(1);
  if (each != in / groups)
    return emitOpError() << "dimension 1 of 'w' is " << each << ", expected "
                         << in / groups << ", the channels of a group";
  return success();
}

LogicalResult DepthwiseConv1dOp::verify() {
  if (failed(verifySameElement(*this, "x", getX(), "w", getW())) ||
      failed(verifySameDim(*this, "x", getX(), 2, "w", getW(), 1)))
    return failure();
  return verifyLeft(*this, getTensor(getW()).getDimSize(0), getLeft());
}

/// Counters of attention's draws hold 8 bits of head, 24 of key / 4.
static constexpr int64_t kMostHeads = 256;

/// All four parts of dropout or none, and numbers that its counters hold.
template <typename OpT>
static LogicalResult verifyAttentionDropout(OpT op, int64_t heads) {
  int parts = bool(op.getUtterances()) + bool(op.getDraw()) +
              bool(op.getRateAttr()) + bool(op.getStreamAttr());
  if (parts == 0)
    return success();
  if (parts != 4)
    return op.emitOpError("dropout needs utterances, draw, 'rate' and "
                          "'stream', or none of them");
  double rate = op.getRateAttr().getValueAsDouble();
  if (!(rate >= 0 && rate < 1))
    return op.emitOpError() << "'rate' must lie in [0, 1), found " << rate;
  if (op.getStreamAttr().empty())
    return op.emitOpError("'stream' must name the op's own random stream");
  if (heads > kMostHeads)
    return op.emitOpError() << heads << " heads are too many for dropout, at "
                            << "most " << kMostHeads;
  return success();
}

/// Keys are as many as queries, of as many channels per head, and every key
/// head serves as many query heads.
template <typename OpT> static LogicalResult verifyKeys(OpT op, int64_t depth) {
  if (failed(verifyRank(op, "k", op.getK(), 3, 3)) ||
      failed(verifySameElement(op, "q", op.getQ(), "k", op.getK())))
    return failure();
  for (unsigned dim : {0, 1})
    if (failed(verifySameDim(op, "q", op.getQ(), dim, "k", op.getK(), dim)))
      return failure();
  int64_t channels = getTensor(op.getK()).getDimSize(2), heads = op.getHeads();
  if (channels % depth || channels == 0 || heads % (channels / depth))
    return op.emitOpError()
           << "'k' has " << channels << " channels; expected " << depth
           << " for each of a divisor of " << heads << " heads";
  return success();
}

template <typename OpT> static LogicalResult verifyAttention(OpT op) {
  if (failed(verifyRank(op, "q", op.getQ(), 3, 3)) ||
      failed(
          verifySameDim(op, "q", op.getQ(), 0, "lengths", op.getLengths(), 0)))
    return failure();
  int64_t channels = getTensor(op.getQ()).getDimSize(2), heads = op.getHeads();
  if (heads <= 0 || channels % heads)
    return op.emitOpError()
           << channels << " channels do not divide into " << heads << " heads";
  if (failed(verifyKeys(op, channels / heads)))
    return failure();
  if (Value utterances = op.getUtterances())
    if (failed(
            verifySameDim(op, "q", op.getQ(), 0, "utterances", utterances, 0)))
      return failure();
  return verifyAttentionDropout(op, heads);
}

LogicalResult AttentionOp::verify() { return verifyAttention(*this); }
LogicalResult AttentionGradOp::verify() { return verifyAttention(*this); }

LogicalResult SwapMiddleOp::verify() {
  for (auto [from, to] : {std::pair(0, 0), {1, 2}, {2, 1}, {3, 3}})
    if (failed(verifySameDim(*this, "x", getX(), from, "y", getY(), to)))
      return failure();
  return verifyWideElement(*this, "y", getY(), "x", getX());
}

/// Every query of a block stands there with all heads of its group.
template <typename OpT> static LogicalResult verifyGroup(OpT op, Value scores) {
  int64_t rows = getTensor(scores).getDimSize(2), group = op.getGroup();
  if (group <= 0 || rows % group)
    return op.emitOpError()
           << rows << " rows are no multiple of 'group', " << group;
  return verifyAttentionDropout(op, getTensor(scores).getDimSize(1) * group);
}

LogicalResult KeySoftmaxOp::verify() {
  if (failed(verifySameDim(*this, "scores", getScores(), 0, "lengths",
                           getLengths(), 0)))
    return failure();
  return verifyGroup(*this, getScores());
}

LogicalResult KeySoftmaxGradOp::verify() {
  if (bool(getDropped()) != bool(getDraw()))
    return emitOpError("gives dropped probabilities with dropout only");
  if (bool(getNarrowDscores()) != bool(getNarrowDropped()))
    return emitOpError("gives both narrow results or none");
  return verifyGroup(*this, getProbabilities());
}

LogicalResult TimeNormOp::verify() {
  if (failed(verifySameElement(*this, "x", getX(), "n", getN())) ||
      failed(verifySameDim(*this, "x", getX(), 0, "n", getN(), 0)))
    return failure();
  return verifySameDim(*this, "x", getX(), 2, "n", getN(), 1);
}

LogicalResult PadTimeOp::verify() {
  if (failed(verifySameElement(*this, "x", getX(), "y", getY())) ||
      failed(verifySameDim(*this, "x", getX(), 0, "y", getY(), 0)) ||
      failed(verifySameDim(*this, "x", getX(), 2, "y", getY(), 2)))
    return failure();
  int64_t left = getLeft(), steps = getTensor(getY()).getDimSize(1);
  if (left < 0 || left + getTensor(getX()).getDimSize(1) > steps)
    return emitOpError() << "'y' has " << steps << " steps, too few for 'x' "
                         << "from step " << left << " on";
  return success();
}

LogicalResult UnpadTimeOp::verify() {
  if (failed(verifySameElement(*this, "x", getX(), "y", getY())) ||
      failed(verifySameDim(*this, "x", getX(), 1, "y", getY(), 2)))
    return failure();
  RankedTensorType y = getTensor(getY());
  int64_t rows = getTensor(getX()).getDimSize(0), period = getPeriod();
  int64_t wanted = (y.getDimSize(0) - 1) * period + y.getDimSize(1);
  if (period < y.getDimSize(1) || rows < wanted)
    return emitOpError() << "'x' has " << rows << " rows, expected " << wanted
                         << " in periods of at least " << y.getDimSize(1);
  return success();
}
