//===- BatchNorm.cpp - what batch normalisation is made of ---------------===//
// In training: statistics of the batch, then a pointwise op; in evaluation the
// same pointwise op with the running statistics.

#include "GradientBuilder.h"

using namespace mlir;
using namespace tts;

SmallVector<Value> BatchNormOp::getEvaluationOperands() {
  return {getX(), getGamma(), getBeta(), getRunningMean(),
          getRunningVariance()};
}

Value BatchNormOp::buildEvaluation(OpBuilder &builder, ValueRange operands) {
  Value x = operands[0], variance = operands[4];
  Type channels = variance.getType();
  Value epsilon = FullOp::create(builder, getLoc(), channels, getEpsilonAttr());
  Value sum = AddOp::create(builder, getLoc(), channels, variance, epsilon);
  Value rstd = RsqrtOp::create(builder, getLoc(), channels, sum);
  return BatchNormalizeOp::create(builder, getLoc(), x.getType(), x,
                                  operands[3], rstd, operands[1], operands[2]);
}

/// Σ lengths, shared with an earlier layer: two equal values would both be
/// kept for backward.
static Value countFrames(OpBuilder &builder, Location loc, Value lengths,
                         Type type) {
  for (Operation *user : lengths.getUsers())
    if (auto count = dyn_cast<CountOp>(user);
        count && count.getPer().convertToDouble() == 1 &&
        count.getType() == type &&
        count->isBeforeInBlock(&*builder.getInsertionPoint()))
      return count;
  return CountOp::create(builder, loc, type, lengths,
                         builder.getF64FloatAttr(1));
}

SmallVector<unsigned> BatchNormOp::getStateOperands() {
  return {getRunningMeanMutable().getOperandNumber(),
          getRunningVarianceMutable().getOperandNumber()};
}

Value BatchNormOp::buildTraining(OpBuilder &builder,
                                 SmallVectorImpl<Value> &next) {
  std::string name = getStableName(getLoc());
  auto called = [&](StringRef part) -> Location {
    return NameLoc::get(builder.getStringAttr(name + "." + part), getLoc());
  };
  Type channels = getGamma().getType();
  auto element = cast<RankedTensorType>(channels).getElementType();
  Value n = countFrames(builder, called("count"), getLengths(),
                        RankedTensorType::get({}, element));
  // The op that splits the batch is refused by the layer's own name.
  auto statistics =
      BatchStatisticsOp::create(builder, getLoc(), channels, channels, channels,
                                getX(), getLengths(), n, getEpsilonAttr());
  auto advance = [&](StringRef part, Value running, Value batch,
                     UnitAttr unbiased) {
    next.push_back(RunningAverageOp::create(builder, called(part), channels,
                                            running, batch, n,
                                            getMomentumAttr(), unbiased));
  };
  advance("running_mean", getRunningMean(), statistics.getMean(), {});
  advance("running_var", getRunningVariance(), statistics.getVariance(),
          builder.getUnitAttr());
  return BatchNormalizeOp::create(
      builder, called("normalize"), getY().getType(), getX(),
      statistics.getMean(), statistics.getRstd(), getGamma(), getBeta());
}

void BatchNormalizeOp::buildAdjoint(OpBuilder &builder, ValueRange dresults,
                                    SmallVectorImpl<Value> &d) {
  GradientBuilder g(builder, *this);
  Value dy = dresults[0];
  d[0] = g.make<BatchNormalizeGradOp>(dy, dy, getRstd(), getGamma());
  d[3] = g.make<BatchNormalizeGammaGradOp>(getGamma(), dy, getX(), getMean(),
                                           getRstd(), Value());
  d[4] = g.make<SumToOp>(getBeta(), dy, builder.getDenseI64ArrayAttr({2}),
                         Value());
  // mean: -rstd · gamma · Σ dy; rstd: gamma · Σ dy (x - mean), which dgamma is
  // up to a factor.
  Value scale = g.mul(getRstd(), getGamma());
  d[1] = g.neg(g.mul(scale, d[4]));
  Value ratio = g.div(d[3], getRstd());
  d[2] = g.mul(getGamma(), ratio);
}

void BatchStatisticsOp::buildAdjoint(OpBuilder &builder, ValueRange dresults,
                                     SmallVectorImpl<Value> &d) {
  GradientBuilder g(builder, *this);
  auto orZero = [&](Value gradient) {
    return gradient ? gradient : g.full(0, getMean());
  };
  Value dmean = orZero(dresults[0]), drstd = orZero(dresults[1]);
  if (Value dvariance = dresults[2]) { // rstd' = -rstd³/2 · variance'
    Value square = g.mul(getRstd(), getRstd());
    Value cube = g.mul(square, getRstd());
    drstd = g.sub(drstd, g.div(g.scale(2, dvariance), cube));
  }
  d[0] = g.make<BatchStatisticsGradOp>(getX(), getX(), getMean(), getRstd(),
                                       dmean, drstd, getLengths(), getN());
}
