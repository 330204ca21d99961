//===- Precisions.cpp - which type an op takes and gives in mixed precision
//===//
// Contractions take the half type and add in f32; statistics, sums and
// gradients of parameters are f32. What is not named here follows its operands
// (`Tts_Follows`) or, without the interface, is f32: exp, log, roots,
// quotients, losses, the optimizer.

#include "tts/Dialect/Tts/IR/TtsDialect.h"

using namespace mlir;
using namespace tts;

/// The first `count` operands are `those`, the others f32.
static Precision first(unsigned operand, unsigned count, Precision those) {
  return operand < count ? those : Precision::Full;
}

/// Groups of a convolution are products over few channels, added up where they
/// stand: f32.
template <typename OpT>
static Precision unlessGrouped(OpT op, Precision those) {
  return op.getGroups() > 1 ? Precision::Full : those;
}

#define TTS_PRECISION(Op, Operand, Result)                                     \
  Precision Op::getOperandPrecision(unsigned operand) { return Operand; }      \
  Precision Op::getResultPrecision(unsigned result) { return Result; }

TTS_PRECISION(LinearOp, Precision::Half, Precision::Either)
TTS_PRECISION(Conv1dOp, unlessGrouped(*this, Precision::Half),
              unlessGrouped(*this, Precision::Either))
TTS_PRECISION(Conv1dInputGradOp, unlessGrouped(*this, Precision::Half),
              unlessGrouped(*this, Precision::Either))
TTS_PRECISION(AttentionOp, Precision::Half, Precision::Half)
TTS_PRECISION(AttentionGradOp, Precision::Half, Precision::Half)

// The gradient of a weight goes into its f32 accumulator.
TTS_PRECISION(WeightGradOp, first(operand, 2, Precision::Half), Precision::Full)
TTS_PRECISION(Conv1dFilterGradOp,
              unlessGrouped(*this, first(operand, 2, Precision::Half)),
              Precision::Full)

// Rows of an f32 table, rounded as they are read.
TTS_PRECISION(EmbeddingOp, Precision::Either, Precision::Either)
TTS_PRECISION(EmbeddingGradOp, first(operand, 2, Precision::Either),
              Precision::Full)
TTS_PRECISION(SumToOp, first(operand, 1, Precision::Either), Precision::Full)

// x, or dy and x, follow; gamma, beta and the statistics are f32.
TTS_PRECISION(LayerNormOp, first(operand, 1, Precision::Follows),
              first(result, 1, Precision::Follows))
TTS_PRECISION(LayerNormGradOp, first(operand, 2, Precision::Follows),
              Precision::Follows)
TTS_PRECISION(LayerNormGammaGradOp, first(operand, 2, Precision::Follows),
              Precision::Full)

TTS_PRECISION(RmsNormOp, first(operand, 1, Precision::Follows),
              first(result, 1, Precision::Follows))
TTS_PRECISION(RmsNormGradOp, first(operand, 2, Precision::Follows),
              Precision::Follows)
TTS_PRECISION(RmsNormGammaGradOp, first(operand, 2, Precision::Follows),
              Precision::Full)

// A table of angles turns x.
TTS_PRECISION(RotaryOp, first(operand, 1, Precision::Follows),
              Precision::Follows)

// A value and when it may be computed.
TTS_PRECISION(RecomputeAfterOp,
              operand == 0 ? Precision::Follows : Precision::Either,
              Precision::Follows)

#undef TTS_PRECISION

// A square is a power: it leaves the range of fp16 at 256.
static Precision ofProduct(MulOp op) {
  return op.getX() == op.getY() ? Precision::Full : Precision::Follows;
}
Precision MulOp::getOperandPrecision(unsigned) { return ofProduct(*this); }
Precision MulOp::getResultPrecision(unsigned) { return ofProduct(*this); }
