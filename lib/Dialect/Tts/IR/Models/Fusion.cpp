//===- Fusion.cpp - which ops may share a kernel, and how -----------------===//

#include "tts/Dialect/Tts/IR/Fusion.h"

#include "tts/Dialect/Tts/IR/TtsDialect.h"

using namespace mlir;
using namespace tts;

#include "tts/Dialect/Tts/IR/FusionInterfaces.cpp.inc"

namespace {
template <typename OpT, bool sum>
struct PerTensor
    : PerTensorOpInterface::ExternalModel<PerTensor<OpT, sum>, OpT> {
  bool isSum(Operation *) const { return sum; }
};

template <typename OpT, bool rowwise, unsigned... rows>
struct Row : RowOpInterface::ExternalModel<Row<OpT, rowwise, rows...>, OpT> {
  SmallVector<unsigned> getRowOperands(Operation *) const { return {rows...}; }
  bool isRowwise(Operation *) const { return rowwise; }
};

/// Not where all is one number: that sum runs through the elements in order,
/// whatever their shape.
struct SumTo : RowOpInterface::ExternalModel<SumTo, SumToOp> {
  SmallVector<unsigned> getRowOperands(Operation *op) const {
    if (cast<SumToOp>(op).getDims().empty())
      return {};
    return {0};
  }
  bool isRowwise(Operation *) const { return false; }
};

template <typename... OpTs> void attachElementwise(MLIRContext &context) {
  (OpTs::template attachInterface<PerTensor<OpTs, false>>(context), ...);
}
/// Each makes a row of its first result from rows of its first operands.
template <typename OpT, unsigned... rows>
void attachRowwise(MLIRContext &context) {
  OpT::template attachInterface<Row<OpT, true, rows...>>(context);
}
/// Sums of what two operands make together.
template <typename... OpTs> void attachSums(MLIRContext &context) {
  (OpTs::template attachInterface<Row<OpTs, false, 0, 1>>(context), ...);
}
} // namespace

bool tts::isElementwise(Operation *op) {
  auto perTensor = dyn_cast<PerTensorOpInterface>(op);
  return op->hasTrait<Pointwise>() ||
         (perTensor && !perTensor.isSum() && !op->hasTrait<Indexing>());
}

void tts::attachFusionRules(MLIRContext &context) {
  attachElementwise<FullOp, CastOp, AdamWOp, SgdOp, EmaOp, AdoptOp>(context);
  SumSquaresOp::attachInterface<PerTensor<SumSquaresOp, true>>(context);

  attachRowwise<LayerNormOp, 0>(context);
  attachRowwise<LayerNormGradOp, 0, 1>(context);
  attachRowwise<RmsNormOp, 0>(context);
  attachRowwise<RmsNormGradOp, 0, 1>(context);
  attachSums<LayerNormGammaGradOp, RmsNormGammaGradOp, L1LossOp, MseLossOp>(
      context);
  SumToOp::attachInterface<SumTo>(context);
}
