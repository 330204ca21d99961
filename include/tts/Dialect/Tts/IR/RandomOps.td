//===- RandomOps.td - numbers drawn by counters ---------------------------===//
//
// Every draw is Philox4x32-10 (Salmon et al., SC'11) with key = hash(seed,
// stream), as `tts.dropout` explains: neither the padding, the micro-batch, the
// rank nor the order of ops enters, and backward draws the same numbers again.
//
// Evaluation keeps these ops without their `draw`: seed and update are then 0,
// so that an utterance has the same noise at every evaluation and two losses of
// one split can be compared. Two ops with the same stream draw the same words.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_DIALECT_TTS_IR_RANDOMOPS_TD
#define TTS_DIALECT_TTS_IR_RANDOMOPS_TD

include "tts/Dialect/Tts/IR/TtsOpBase.td"

def Tts_DrawnInTraining
    : DeclareOpInterfaceMethods<Tts_TrainingOnlyOpInterface, ["actsInTrainingOnly"]>;

def Tts_NormalOp : Tts_Op<"normal", [Tts_Pointwise, Tts_DrawnInTraining]> {
  let summary = "standard normal noise, a number per element";
  let description = [{
    `y` is [batch, time] or [batch, time, channel]; the word w of an element is
    that of `tts.dropout`. With m = w mod 2³¹ and p = (m + 1/2) / 2³², y is the
    p-quantile, or its negative where w < 2³¹, by the rational functions PPND7
    of Wichura (AS 241, Applied Statistics 37, 1988), which are right to 1e-7.
    Padded time steps are not zero.
  }];
  let arguments = (ins Tts_Utterances:$utterances, Optional<Tts_Draw>:$draw, StrAttr:$stream);
  let results = (outs Tts_FloatTensor:$y);
  let assemblyFormat = "$utterances (`,` $draw^)? attr-dict `:` type($utterances) (`,` type($draw)^)? `to` type($y)";
  let hasVerifier = 1;
}

def Tts_UniformOp : Tts_Op<"uniform", [Tts_Pointwise, Tts_DrawnInTraining]> {
  let summary = "a number of [0, 1) per utterance";
  let description = [{
    ⌊w / 2⁸⌋ / 2²⁴ with the first word w of counter (update, utterance, 0, 0):
    exact in f32, so the same number in every precision.
  }];
  let arguments = (ins Tts_Utterances:$utterances, Optional<Tts_Draw>:$draw, StrAttr:$stream);
  let results = (outs 1DTensorOf<[F32, F64, F16, BF16]>:$y);
  let assemblyFormat = "$utterances (`,` $draw^)? attr-dict `:` type($utterances) (`,` type($draw)^)? `to` type($y)";
  let hasVerifier = 1;
}

def Tts_SpanMaskOp : Tts_Op<"span_mask", [Tts_Pointwise, Tts_DrawnInTraining]> {
  let summary = "1 in a random span of each utterance, else 0";
  let description = [{
    With u, v = ⌊word / 2⁸⌋ / 2²⁴ of the first two words of counter (update,
    utterance, 0, 0) and n = lengths[b], in f64: the span has
    k = ⌊(low + (high - low) · u) · n⌋ time steps from ⌊(n - k + 1) · v⌋ on (the
    infilling task of Voicebox, arXiv:2306.15687). 0 in the padding.
  }];
  let arguments = (ins Tts_Lengths:$lengths, Tts_Utterances:$utterances, Optional<Tts_Draw>:$draw,
                       F64Attr:$low, F64Attr:$high, StrAttr:$stream);
  let results = (outs 2DTensorOf<[F32, F64, F16, BF16]>:$y);
  let assemblyFormat = [{
    $lengths `,` $utterances (`,` $draw^)? attr-dict
    `:` type($lengths) `,` type($utterances) (`,` type($draw)^)? `to` type($y)
  }];
  let hasVerifier = 1;
}

def Tts_CoinOp : Tts_Op<"coin", [Tts_Pointwise, DeclareOpInterfaceMethods<Tts_TrainingOnlyOpInterface>]> {
  let summary = "0 with probability `rate`, else 1: one flip per update";
  let description = [{
    0 where the first word of counter (update, 0, 0, 0) is below
    floor(rate·2³²). Every micro-batch and rank of an update and a resumed run
    see the same flip. Evaluation has 1. Coins of one stream are one flip with
    several thresholds: where that of the lower rate is 0, so are the others.
  }];
  let arguments = (ins Tts_Draw:$draw, F64Attr:$rate, StrAttr:$stream);
  let results = (outs 0DTensorOf<[F32, F64, F16, BF16]>:$y);
  let assemblyFormat = "$draw attr-dict `:` type($draw) `to` type($y)";
  let hasVerifier = 1;
}

#endif // TTS_DIALECT_TTS_IR_RANDOMOPS_TD
