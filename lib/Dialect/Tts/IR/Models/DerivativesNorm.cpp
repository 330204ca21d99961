//===- DerivativesNorm.cpp - derivatives of normalisations ---------------===//
// The statistics of the forward pass are read again, never computed again.

#include "GradientBuilder.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tts;

/// dx += `gradient` of a row statistic times `factor`, row by row.
static void addRows(GradientBuilder &g, OpBuilder &builder, Value x, Value rows,
                    Value factor, Value &dx) {
  int64_t rank = cast<RankedTensorType>(x.getType()).getRank();
  auto dims = builder.getDenseI64ArrayAttr(
      llvm::to_vector(llvm::seq<int64_t>(0, rank - 1)));
  Value term = g.make<BroadcastOp>(x, rows, dims);
  if (factor)
    term = g.mul(term, factor);
  dx = dx ? g.add(dx, term) : term;
}

void RmsNormOp::buildAdjoint(OpBuilder &builder, ValueRange dresults,
                             SmallVectorImpl<Value> &d) {
  GradientBuilder g(builder, *this);
  Value dy = dresults[0], drstd = dresults[1];
  if (dy) {
    d[0] = g.make<RmsNormGradOp>(getX(), dy, getX(), getRstd(), getGamma());
    d[1] =
        g.make<RmsNormGammaGradOp>(getGamma(), dy, getX(), getRstd(), Value());
  }
  if (!drstd)
    return;
  // rstd' = -rstd³ x/C.
  int64_t channels = getGamma().getType().getDimSize(0);
  Value cube = g.mul(getRstd(), g.mul(getRstd(), getRstd()));
  Value slope = g.mul(g.scale(-1.0 / channels, drstd), cube);
  addRows(g, builder, getX(), slope, getX(), d[0]);
}

void LayerNormOp::buildAdjoint(OpBuilder &builder, ValueRange dresults,
                               SmallVectorImpl<Value> &d) {
  GradientBuilder g(builder, *this);
  Value dy = dresults[0], dmean = dresults[1], drstd = dresults[2];
  auto type = cast<RankedTensorType>(getX().getType());
  if (dy) {
    d[0] = g.make<LayerNormGradOp>(getX(), dy, getX(), getMean(), getRstd(),
                                   getGamma());
    d[1] = g.make<LayerNormGammaGradOp>(getGamma(), dy, getX(), getMean(),
                                        getRstd(), Value());
    d[2] = g.make<SumToOp>(getBeta(), dy,
                           builder.getDenseI64ArrayAttr({type.getRank() - 1}),
                           Value());
  }
  // The statistics are results like any other: mean' = 1/C and
  // rstd' = -rstd³ (x - mean)/C.
  double share = 1.0 / type.getDimSize(type.getRank() - 1);
  if (dmean)
    addRows(g, builder, getX(), g.scale(share, dmean), Value(), d[0]);
  if (drstd) {
    Value cube = g.mul(getRstd(), g.mul(getRstd(), getRstd()));
    Value mean;
    addRows(g, builder, getX(), getMean(), Value(), mean);
    Value centred = g.sub(getX(), mean);
    Value slope = g.mul(g.scale(-share, drstd), cube);
    addRows(g, builder, getX(), slope, centred, d[0]);
  }
}

void TimeNormOp::buildAdjoint(OpBuilder &builder, ValueRange dn,
                              SmallVectorImpl<Value> &d) {
  GradientBuilder g(builder, *this);
  d[0] = g.make<TimeNormGradOp>(getX(), getX(), getN(), dn[0]);
}
