//===- DerivativesShape.cpp - derivatives of broadcasts, gathers, time ---===//
// A broadcast's adjoint is a sum, a gather's a scatter in fixed order, a
// rotation's its inverse; masks and dropout are diagonal matrices, their own
// adjoints.

#include "GradientBuilder.h"

using namespace mlir;
using namespace tts;

void BroadcastOp::buildAdjoint(OpBuilder &builder, ValueRange dy,
                               SmallVectorImpl<Value> &d) {
  GradientBuilder g(builder, *this);
  d[0] = g.make<SumToOp>(getX(), dy[0], getDimsAttr(), Value());
}

void SumToOp::buildAdjoint(OpBuilder &builder, ValueRange dy,
                           SmallVectorImpl<Value> &d) {
  GradientBuilder g(builder, *this);
  d[0] = g.make<BroadcastOp>(getX(), dy[0], getDimsAttr());
  if (getAcc())
    d[1] = dy[0];
}

void ConcatOp::buildAdjoint(OpBuilder &builder, ValueRange dy,
                            SmallVectorImpl<Value> &d) {
  GradientBuilder g(builder, *this);
  auto parts = g.makeOp<SplitOp>(getParts().getTypes(), dy[0]);
  llvm::copy(parts.getParts(), d.begin());
}

void SplitOp::buildAdjoint(OpBuilder &builder, ValueRange dparts,
                           SmallVectorImpl<Value> &d) {
  GradientBuilder g(builder, *this);
  SmallVector<Value> parts;
  for (auto [part, dpart] : llvm::zip_equal(getParts(), dparts))
    parts.push_back(dpart ? dpart : g.full(0, part));
  d[0] = g.make<ConcatOp>(getX(), parts);
}

void SqueezeOp::buildAdjoint(OpBuilder &builder, ValueRange dy,
                             SmallVectorImpl<Value> &d) {
  GradientBuilder g(builder, *this);
  d[0] = g.make<UnsqueezeOp>(getX(), dy[0], getDimAttr());
}

void UnsqueezeOp::buildAdjoint(OpBuilder &builder, ValueRange dy,
                               SmallVectorImpl<Value> &d) {
  GradientBuilder g(builder, *this);
  d[0] = g.make<SqueezeOp>(getX(), dy[0], getDimAttr());
}

void MaskOp::buildAdjoint(OpBuilder &builder, ValueRange dy,
                          SmallVectorImpl<Value> &d) {
  GradientBuilder g(builder, *this);
  d[0] = g.make<MaskOp>(getX(), dy[0], getLengths());
}

void DropoutOp::buildAdjoint(OpBuilder &builder, ValueRange dy,
                             SmallVectorImpl<Value> &d) {
  GradientBuilder g(builder, *this);
  // The same stream draws the same numbers: nothing is kept.
  d[0] = g.make<DropoutOp>(getX(), dy[0], getUtterances(), getDraw(),
                           getRateAttr(), getStreamAttr());
}

void RotaryOp::buildAdjoint(OpBuilder &builder, ValueRange dy,
                            SmallVectorImpl<Value> &d) {
  GradientBuilder g(builder, *this);
  auto flipped = getInverse() ? UnitAttr() : builder.getUnitAttr();
  d[0] = g.make<RotaryOp>(getX(), dy[0], getTable(), getHeadsAttr(), flipped);
}

void EmbeddingOp::buildAdjoint(OpBuilder &builder, ValueRange dy,
                               SmallVectorImpl<Value> &d) {
  GradientBuilder g(builder, *this);
  d[1] = g.make<EmbeddingGradOp>(getTable(), getIds(), dy[0], Value());
}

void LengthRegulateOp::buildAdjoint(OpBuilder &builder, ValueRange dy,
                                    SmallVectorImpl<Value> &d) {
  GradientBuilder g(builder, *this);
  d[0] = g.make<LengthRegulateGradOp>(getX(), dy[0], getDurations());
}
