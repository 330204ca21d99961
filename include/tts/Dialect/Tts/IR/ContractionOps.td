//===- ContractionOps.td - matmuls, convolutions, attention ---------------===//

#ifndef TTS_DIALECT_TTS_IR_CONTRACTIONOPS_TD
#define TTS_DIALECT_TTS_IR_CONTRACTIONOPS_TD

include "tts/Dialect/Tts/IR/TtsOpBase.td"

def Tts_LinearOp : Tts_Op<"linear", [Tts_Differentiable, Tts_Cost, Tts_Precision]> {
  let summary = "y[..., n] = Σ_k x[..., k] · w[k, n], or w[n, k] with `transpose`";
  let arguments = (ins Tts_FloatTensor:$x, 2DTensorOf<[F32, F64, F16, BF16]>:$w,
                       UnitAttr:$transpose);
  let results = (outs Tts_FloatTensor:$y);
  let assemblyFormat = "$x `,` $w attr-dict `:` type($x) `,` type($w) `to` type($y)";
  let hasVerifier = 1;
}

def Tts_WeightGradOp : Tts_Op<"weight_grad", [Tts_Cost, Tts_Precision,
    DeclareOpInterfaceMethods<Tts_AccumulatingOpInterface>]> {
  let summary = "dw[k, n] = Σ over leading dims of x[..., k] · dy[..., n]";
  let arguments = (ins Tts_FloatTensor:$x, Tts_FloatTensor:$dy,
                       Optional<Tts_FloatTensor>:$acc);
  let results = (outs 2DTensorOf<[F32, F64]>:$dw);
  let assemblyFormat = "$x `,` $dy (`into` $acc^ `:` type($acc))? attr-dict `:` type($x) `,` type($dy) `to` type($dw)";
}

def Tts_Conv1dOp : Tts_Op<"conv1d", [Tts_Differentiable, Tts_CostOfMany, Tts_Precision, Tts_TimeMixing]> {
  let summary = "y[b, t, o] = Σ_{j, i} x[b, t + j - left, i] · w[j, i, o]";
  let description = [{
    `x` is [batch, time, in], `w` [taps, in, out], zeros outside [0, time).
    `left` = (taps-1)/2 keeps an odd kernel centred, taps-1 makes it causal.

    With `groups` > 1 the channels of both sides fall into that many equal runs
    and a run of the result reads its own run of `x` only: `w` is
    [taps, in/groups, out].
  }];
  let arguments = (ins Tts_FloatTensor:$x, 3DTensorOf<[F32, F64, F16, BF16]>:$w, I64Attr:$left,
                       DefaultValuedAttr<I64Attr, "1">:$groups);
  let results = (outs Tts_FloatTensor:$y);
  let assemblyFormat = "$x `,` $w attr-dict `:` type($x) `,` type($w) `to` type($y)";
  let hasVerifier = 1;
}

def Tts_Conv1dInputGradOp : Tts_Op<"conv1d_input_grad", [Tts_CostOfMany, Tts_Precision]> {
  let summary = "dx[b, s, i] = Σ_{j, o} dy[b, s - j + left, o] · w[j, i, o]";
  let arguments = (ins Tts_FloatTensor:$dy, 3DTensorOf<[F32, F64, F16, BF16]>:$w, I64Attr:$left,
                       DefaultValuedAttr<I64Attr, "1">:$groups);
  let results = (outs Tts_FloatTensor:$dx);
  let assemblyFormat = "$dy `,` $w attr-dict `:` type($dy) `,` type($w) `to` type($dx)";
}

def Tts_Conv1dFilterGradOp : Tts_Op<"conv1d_filter_grad", [Tts_Cost, Tts_Precision,
    DeclareOpInterfaceMethods<Tts_AccumulatingOpInterface>]> {
  let summary = "dw[j, i, o] = Σ_{b, t} x[b, t + j - left, i] · dy[b, t, o]";
  let arguments = (ins Tts_FloatTensor:$x, Tts_FloatTensor:$dy, I64Attr:$left,
                       DefaultValuedAttr<I64Attr, "1">:$groups,
                       Optional<Tts_FloatTensor>:$acc);
  let results = (outs 3DTensorOf<[F32, F64]>:$dw);
  let assemblyFormat = "$x `,` $dy (`into` $acc^ `:` type($acc))? attr-dict `:` type($x) `,` type($dy) `to` type($dw)";
}

def Tts_DepthwiseConv1dOp : Tts_Op<"depthwise_conv1d", [AllTypesMatch<["x", "y"]>,
    Tts_Differentiable, Tts_Cost, Tts_TimeMixing]> {
  let summary = "y[b, t, c] = Σ_j x[b, t + j - left, c] · w[j, c]: a convolution per channel";
  let description = [{
    `x` is [batch, time, channel], `w` [taps, channel], zeros outside [0, time);
    the taps are added in their order. With `transposed` the taps read the other
    way, y[b, t, c] = Σ_j x[b, t - j + left, c] · w[j, c]: the adjoint.

    Example: `%y = tts.depthwise_conv1d %x, %w {left = 3 : i64} :
    tensor<8x304x512xf32>, tensor<7x512xf32>`
  }];
  let arguments = (ins 3DTensorOf<[F32, F64, F16, BF16]>:$x, 2DTensorOf<[F32, F64, F16, BF16]>:$w,
                       I64Attr:$left, UnitAttr:$transposed);
  let results = (outs 3DTensorOf<[F32, F64, F16, BF16]>:$y);
  let assemblyFormat = "$x `,` $w attr-dict `:` type($x) `,` type($w)";
  let hasVerifier = 1;
}

def Tts_DepthwiseConv1dFilterGradOp : Tts_Op<"depthwise_conv1d_filter_grad", [
    AllTypesMatch<["x", "dy"]>, Tts_Cost, DeclareOpInterfaceMethods<Tts_AccumulatingOpInterface>]> {
  let summary = "dw[j, c] = Σ_{b, t} x[b, t + j - left, c] · dy[b, t, c]";
  let arguments = (ins 3DTensorOf<[F32, F64, F16, BF16]>:$x, 3DTensorOf<[F32, F64, F16, BF16]>:$dy,
                       I64Attr:$left, Optional<Tts_FloatTensor>:$acc);
  let results = (outs 2DTensorOf<[F32, F64]>:$dw);
  let assemblyFormat = "$x `,` $dy (`into` $acc^ `:` type($acc))? attr-dict `:` type($x) `to` type($dw)";
}

/// Dropout of attention's probabilities: all four of `utterances`, `draw`,
/// `rate` and `stream`, or none. The counter is explained at `tts.attention`.
class Tts_AttentionDropout {
  dag operands = (ins Optional<Tts_Utterances>:$utterances, Optional<Tts_Draw>:$draw);
  dag attributes = (ins OptionalAttr<F64Attr>:$rate, OptionalAttr<StrAttr>:$stream);
}
defvar Tts_Dropped = Tts_AttentionDropout<>;

def Tts_AttentionOp : Tts_Op<"attention", [AllTypesMatch<["q", "y"]>, AllTypesMatch<["k", "v"]>, AttrSizedOperandSegments,
    Tts_Differentiable, Tts_CostOfMany, Tts_Precision, DeclareOpInterfaceMethods<Tts_TrainingOnlyOpInterface, ["actsInTrainingOnly"]>]> {
  let summary = "multi-head scaled dot-product self-attention with key lengths";
  let description = [{
    q, k, v are [batch, time, heads·d]; head h uses channels [h·d, (h+1)·d):
    y = softmax(scale · q kᵀ) v over the keys s < lengths[b]; scale = 1/√d
    (Vaswani et al., arXiv:1706.03762, §3.2). With `causal` the query at t sees
    the keys s ≤ t only. A row without a valid key (an empty slot) gives 0,
    gradient 0, never NaN.

    k and v may have fewer heads than q, told by their channels (their type
    then follows the word `keys`): with `heads` = h and h/g key heads, head j of
    q attends to head j/g of k and v (Ainslie et al., arXiv:2305.13245). Their
    gradients sum over the g heads of a group.

    With `dropout` each probability is zeroed with probability `rate` and scaled
    by 1/(1-rate) else, in training only. The draw of (query t, key s, head h)
    is that of `tts.dropout` with counter = (update, utterance, t, h·2²⁴ + s/4),
    output word s mod 4: a longer bucket, another micro-batch and backward, which
    stores no mask, draw the same.
  }];
  let arguments = !con((ins Tts_FloatTensor:$q, Tts_FloatTensor:$k, Tts_FloatTensor:$v,
                            Tts_Lengths:$lengths), Tts_Dropped.operands,
                       (ins I64Attr:$heads, UnitAttr:$causal), Tts_Dropped.attributes);
  let results = (outs Tts_FloatTensor:$y);
  let assemblyFormat = [{
    $q `,` $k `,` $v `,` $lengths (`dropout` $utterances^ `,` $draw)? attr-dict
    `:` custom<QueriesAndKeys>(type($q), type($k)) `,` type($lengths)
    (`,` type($utterances)^ `,` type($draw))?
  }];
  let hasVerifier = 1;
}

def Tts_AttentionGradOp : Tts_Op<"attention_grad",
    [AllTypesMatch<["dy", "q", "dq"]>, AllTypesMatch<["k", "v", "dk", "dv"]>, AttrSizedOperandSegments, Tts_CostOfMany, Tts_Precision]> {
  let summary = "gradients of attention; the probabilities are computed and dropped again";
  let arguments = !con((ins Tts_FloatTensor:$dy, Tts_FloatTensor:$q, Tts_FloatTensor:$k,
                            Tts_FloatTensor:$v, Tts_Lengths:$lengths), Tts_Dropped.operands,
                       (ins I64Attr:$heads, UnitAttr:$causal), Tts_Dropped.attributes);
  let results = (outs Tts_FloatTensor:$dq, Tts_FloatTensor:$dk, Tts_FloatTensor:$dv);
  let assemblyFormat = [{
    $dy `,` $q `,` $k `,` $v `,` $lengths (`dropout` $utterances^ `,` $draw)? attr-dict
    `:` custom<QueriesAndKeys>(type($q), type($k)) `,` type($lengths)
    (`,` type($utterances)^ `,` type($draw))?
  }];
  let hasVerifier = 1;
}

def Tts_SwapMiddleOp : Tts_Op<"swap_middle"> {
  let summary = "y[b, j, i, c] = x[b, i, j, c]: heads before time, or time before heads";
  let description = [{
    Made by Select around attention, so that the rows of one head lie one behind
    the other.
  }];
  let arguments = (ins 4DTensorOf<[F32, F64, F16, BF16]>:$x);
  let results = (outs 4DTensorOf<[F32, F64, F16, BF16]>:$y);
  let assemblyFormat = "$x attr-dict `:` type($x) `to` type($y)";
  let hasVerifier = 1;
}

def Tts_KeySoftmaxOp : Tts_Op<"key_softmax", [Tts_InPlaceOpInterface, AttrSizedOperandSegments,
    AllTypesMatch<["scores", "probabilities"]>]> {
  let summary = "softmax of scale · scores over the keys s < lengths[b]; 0 at the others";
  let description = [{
    `scores` is [batch, key heads, queries · group, keys]: a block of queries
    from `first_query` on, each with the `group` heads that share a key head, and
    the keys from 0 on. Made by Select from attention, in place. No valid key:
    all 0. `causal` and `dropout` as in `tts.attention`. `narrow` is the same
    rounded to a half type, for the product that reads it.
  }];
  let arguments = !con((ins 4DTensorOf<[F32, F64, F16, BF16]>:$scores, Tts_Lengths:$lengths),
                       Tts_Dropped.operands,
                       (ins F64Attr:$scale, DefaultValuedAttr<I64Attr, "0">:$first_query,
                            DefaultValuedAttr<I64Attr, "1">:$group, UnitAttr:$causal),
                       Tts_Dropped.attributes);
  let results = (outs Tts_FloatTensor:$probabilities, Optional<Tts_HalfTensor>:$narrow);
  let assemblyFormat = [{
    $scores `,` $lengths (`dropout` $utterances^ `,` $draw)? attr-dict
    `:` type($scores) `,` type($lengths) (`,` type($utterances)^ `,` type($draw))?
    (`narrow` type($narrow)^)?
  }];
  let extraClassDeclaration = Tts_InPlace<[0, -1]>.body;
  let hasVerifier = 1;
}

def Tts_KeySoftmaxGradOp : Tts_Op<"key_softmax_grad", [Tts_InPlaceOpInterface, AttrSizedOperandSegments,
    AttrSizedResultSegments,
    AllTypesMatch<["probabilities", "dprobabilities", "dscores"]>]> {
  let summary = "dscores = scale · p · (dp - Σ_keys p·dp); made by Select, in place of dp";
  let description = [{
    `probabilities` are those before dropout. With `dropout`, `dprobabilities`
    are gradients of the dropped ones, which `dropped` gives in place of
    `probabilities`. `narrow_dscores` is `dscores` and `narrow_dropped` the
    (dropped) probabilities, rounded to a half type.
  }];
  let arguments = !con((ins 4DTensorOf<[F32, F64, F16, BF16]>:$probabilities, Tts_FloatTensor:$dprobabilities),
                       Tts_Dropped.operands,
                       (ins F64Attr:$scale, DefaultValuedAttr<I64Attr, "0">:$first_query,
                            DefaultValuedAttr<I64Attr, "1">:$group), Tts_Dropped.attributes);
  let results = (outs Tts_FloatTensor:$dscores, Optional<Tts_FloatTensor>:$dropped,
                      Optional<Tts_HalfTensor>:$narrow_dscores, Optional<Tts_HalfTensor>:$narrow_dropped);
  let assemblyFormat = [{
    $probabilities `,` $dprobabilities (`dropout` $utterances^ `,` $draw)? attr-dict
    `:` type($probabilities) (`,` type($utterances)^ `,` type($draw) `to` type($dropped))?
    (`narrow` type($narrow_dscores)^ `,` type($narrow_dropped))?
  }];
  let extraClassDeclaration = [{
    int64_t getTiedOperand(unsigned result) {
      return result == 0 ? 1 : result == 1 && getDropped() ? 0 : -1;
    }
  }];
  let hasVerifier = 1;
}

def Tts_PadTimeOp : Tts_Op<"pad_time"> {
  let summary = "y[b, t, c] = x[b, t - left, c], 0 where x has no such step";
  let description = [{
    Made by Select around a grouped convolution, so that the rows of all
    utterances are one run of which a tap reads a part.
  }];
  let arguments = (ins 3DTensorOf<[F32, F64, F16, BF16]>:$x, I64Attr:$left);
  let results = (outs 3DTensorOf<[F32, F64, F16, BF16]>:$y);
  let assemblyFormat = "$x attr-dict `:` type($x) `to` type($y)";
  let hasVerifier = 1;
}

def Tts_UnpadTimeOp : Tts_Op<"unpad_time"> {
  let summary = "y[b, t, c] = x[b · period + t, c]: what `pad_time` added left out again";
  let description = "Made by Select; `x` may end with the last row that is read.";
  let arguments = (ins 2DTensorOf<[F32, F64, F16, BF16]>:$x, I64Attr:$period);
  let results = (outs 3DTensorOf<[F32, F64, F16, BF16]>:$y);
  let assemblyFormat = "$x attr-dict `:` type($x) `to` type($y)";
  let hasVerifier = 1;
}

#endif // TTS_DIALECT_TTS_IR_CONTRACTIONOPS_TD
