//===- Eager.cpp - what an eager framework keeps of each op --------------===//
// PyTorch's formulas for saved tensors and the lists of its autocast, as
// measured in TTS.md §2: a DiT block keeps (53 + 9·ff)·d bytes a token in fp32
// and (39 + 5·ff)·d in bf16, a GPT block 70d and 40d, a FastSpeech 2 block 50d
// with attention spelled out (test/Unit/Pipelines/EagerBytesTest.cpp).

#include "tts/Dialect/Tts/IR/Eager.h"

#include "tts/Dialect/Tts/IR/TtsDialect.h"

using namespace mlir;
using namespace tts;

#include "tts/Dialect/Tts/IR/EagerInterfaces.cpp.inc"

namespace {

using NeedsGradient = llvm::function_ref<bool(Value)>;

//===-- contractions: in half; each factor is kept for the other's gradient
//===//

template <typename OpT> EagerRule contraction(OpT op, NeedsGradient needs) {
  EagerRule rule;
  rule.width = EagerWidth::Half;
  if (needs(op.getW()))
    rule.kept.push_back(op.getX());
  if (needs(op.getX()))
    rule.kept.push_back(op.getW());
  return rule;
}

/// Fused: q, k, v, the result and a log-sum-exp for each query and head. Heads
/// stand before time in it, so the projection behind keeps a copy in the usual
/// layout. Dropout inside keeps the seed alone.
EagerRule attention(AttentionOp op, NeedsGradient) {
  EagerRule rule;
  rule.width = EagerWidth::Half;
  rule.kept = {op.getQ(), op.getK(), op.getV(), op.getY()};
  rule.copied = {op.getY()};
  auto type = cast<RankedTensorType>(op.getY().getType());
  int64_t channels = type.getDimSize(type.getRank() - 1);
  rule.beside = {
      {op.getY(), 4, channels / static_cast<int64_t>(op.getHeads())}};
  return rule;
}

//===-- norms and losses: in single precision
//------------------------------===//

EagerRule layerNorm(LayerNormOp op, NeedsGradient) {
  return {
      EagerWidth::Full, {op.getX(), op.getMean(), op.getRstd()}, {}, {}, {}};
}

EagerRule rmsNorm(RmsNormOp op, NeedsGradient) {
  return {EagerWidth::Full, {op.getX(), op.getRstd()}, {}, {}, {}};
}

/// A linear layer, then logits and their log-softmax in single precision: 8V.
EagerRule crossEntropy(LinearCrossEntropyOp op, NeedsGradient needs) {
  EagerRule rule = contraction(op, needs);
  int64_t ofStep = 4 * op.getW().getType().getDimSize(1);
  rule.beside = {{op.getLse(), ofStep, 1}, {op.getLse(), ofStep, 1}};
  return rule;
}

template <typename OpT> EagerRule loss(OpT op, NeedsGradient) {
  return {EagerWidth::Full, {op.getPrediction(), op.getTarget()}, {}, {}, {}};
}

//===-- pointwise: in the widest operand
//-----------------------------------===//

template <typename OpT> EagerRule keepsNothing(OpT, NeedsGradient) {
  return {};
}
template <typename OpT> EagerRule keepsOperand(OpT op, NeedsGradient) {
  EagerRule rule;
  rule.kept = {op->getOperand(0)};
  return rule;
}
template <typename OpT> EagerRule keepsResult(OpT op, NeedsGradient) {
  EagerRule rule;
  rule.kept = {op->getResult(0)};
  return rule;
}
/// exp, log and roots leave half precision.
template <typename OpT> EagerRule keepsFullOperand(OpT op, NeedsGradient) {
  EagerRule rule = keepsOperand(op, nullptr);
  rule.width = EagerWidth::Full;
  return rule;
}
template <typename OpT> EagerRule keepsFullResult(OpT op, NeedsGradient) {
  EagerRule rule = keepsResult(op, nullptr);
  rule.width = EagerWidth::Full;
  return rule;
}

EagerRule product(MulOp op, NeedsGradient needs) {
  EagerRule rule;
  if (needs(op.getY()))
    rule.kept.push_back(op.getX());
  if (needs(op.getX()))
    rule.kept.push_back(op.getY());
  return rule;
}
EagerRule quotient(DivOp op, NeedsGradient needs) {
  EagerRule rule;
  rule.kept.push_back(op.getY());
  if (needs(op.getY()))
    rule.kept.push_back(op.getX());
  return rule;
}

/// In the table's width; the ids are the batch's.
EagerRule embedding(EmbeddingOp, NeedsGradient) {
  EagerRule rule;
  rule.width = EagerWidth::Full;
  return rule;
}

/// A mask of a byte for each element.
EagerRule dropout(DropoutOp op, NeedsGradient) {
  EagerRule rule;
  rule.beside = {{op.getY(), 1, 1}};
  return rule;
}

/// Counted as done in place: a trainer's own masks mostly are, and ours before
/// ops that mix time have no counterpart there.
EagerRule mask(MaskOp op, NeedsGradient) {
  EagerRule rule;
  rule.viewed = op.getX();
  return rule;
}

/// Views of the whole.
EagerRule split(SplitOp op, NeedsGradient) {
  EagerRule rule;
  rule.viewed = op.getX();
  return rule;
}

/// The index of each frame's phone, as a 64-bit gather wants it.
EagerRule lengthRegulate(LengthRegulateOp op, NeedsGradient) {
  auto type = cast<RankedTensorType>(op.getY().getType());
  EagerRule rule;
  rule.beside = {{op.getY(), 8, type.getDimSize(type.getRank() - 1)}};
  return rule;
}

//===-- attaching
//----------------------------------------------------------===//

template <typename OpT, EagerRule (*rule)(OpT, NeedsGradient)>
struct Model : EagerOpInterface::ExternalModel<Model<OpT, rule>, OpT> {
  EagerRule getEagerRule(Operation *op, NeedsGradient needs) const {
    return rule(cast<OpT>(op), needs);
  }
};

} // namespace

void tts::attachEagerRules(MLIRContext &context) {
#define TTS_EAGER(OP, RULE) OP::attachInterface<Model<OP, RULE>>(context)
  TTS_EAGER(LinearOp, contraction<LinearOp>);
  TTS_EAGER(Conv1dOp, contraction<Conv1dOp>);
  TTS_EAGER(DepthwiseConv1dOp, contraction<DepthwiseConv1dOp>);
  TTS_EAGER(AttentionOp, attention);
  TTS_EAGER(LayerNormOp, layerNorm);
  TTS_EAGER(RmsNormOp, rmsNorm);
  TTS_EAGER(LinearCrossEntropyOp, crossEntropy);
  TTS_EAGER(CountTargetsOp, keepsNothing<CountTargetsOp>);
  TTS_EAGER(L1LossOp, loss<L1LossOp>);
  TTS_EAGER(MseLossOp, loss<MseLossOp>);

  TTS_EAGER(AddOp, keepsNothing<AddOp>);
  TTS_EAGER(SubOp, keepsNothing<SubOp>);
  TTS_EAGER(NegOp, keepsNothing<NegOp>);
  TTS_EAGER(CastOp, keepsNothing<CastOp>);
  TTS_EAGER(SumToOp, keepsNothing<SumToOp>);
  TTS_EAGER(ConcatOp, keepsNothing<ConcatOp>);
  TTS_EAGER(SplitOp, split);
  TTS_EAGER(EmbeddingOp, embedding);
  TTS_EAGER(RotaryOp, keepsNothing<RotaryOp>);
  TTS_EAGER(CountOp, keepsNothing<CountOp>);
  TTS_EAGER(BucketizeOp, keepsNothing<BucketizeOp>);
  TTS_EAGER(MulOp, product);
  TTS_EAGER(DivOp, quotient);
  TTS_EAGER(AbsOp, keepsOperand<AbsOp>);
  TTS_EAGER(GeluOp, keepsOperand<GeluOp>);
  TTS_EAGER(MishOp, keepsOperand<MishOp>);
  TTS_EAGER(SiluOp, keepsOperand<SiluOp>);
  TTS_EAGER(SinOp, keepsOperand<SinOp>);
  TTS_EAGER(CosOp, keepsOperand<CosOp>);
  TTS_EAGER(ReluOp, keepsResult<ReluOp>);
  TTS_EAGER(TanhOp, keepsResult<TanhOp>);
  TTS_EAGER(SigmoidOp, keepsResult<SigmoidOp>);
  TTS_EAGER(SqrtOp, keepsResult<SqrtOp>);
  TTS_EAGER(RsqrtOp, keepsFullResult<RsqrtOp>);
  TTS_EAGER(ExpOp, keepsFullResult<ExpOp>);
  TTS_EAGER(LogOp, keepsFullOperand<LogOp>);
  TTS_EAGER(Log1pOp, keepsFullOperand<Log1pOp>);
  TTS_EAGER(DropoutOp, dropout);
  TTS_EAGER(MaskOp, mask);
  TTS_EAGER(LengthRegulateOp, lengthRegulate);
#undef TTS_EAGER
}
