//===- ShapeOps.td - broadcasting, reductions, gathers, time --------------===//

#ifndef TTS_DIALECT_TTS_IR_SHAPEOPS_TD
#define TTS_DIALECT_TTS_IR_SHAPEOPS_TD

include "tts/Dialect/Tts/IR/TtsOpBase.td"

def Tts_FullOp : Tts_Op<"full", [Tts_Indexing, Tts_Follows]> {
  let summary = "a tensor of one constant";
  let description = "Example: `%one = tts.full 1.0 : tensor<?x80xf32, #tts.dims<batch, _>>`";
  let arguments = (ins F64Attr:$value);
  let results = (outs Tts_FloatTensor:$y);
  let assemblyFormat = "$value attr-dict `:` type($y)";
}

def Tts_BroadcastOp : Tts_Op<"broadcast", [Tts_Indexing, Tts_Differentiable, Tts_Follows]> {
  let summary = "repeats a tensor along new dimensions";
  let description = [{
    Dimension i of `x` is dimension `dims[i]` of `y` (ascending, same size and
    name); the other dimensions of `y` repeat. The only way to broadcast.

    Example: `%b = tts.broadcast %bias dims [2] : tensor<256xf32> to
    tensor<?x?x256xf32, #tts.dims<batch, frames, _>>`
  }];
  let arguments = (ins Tts_FloatTensor:$x, DenseI64ArrayAttr:$dims);
  let results = (outs Tts_FloatTensor:$y);
  let assemblyFormat = "$x `dims` $dims attr-dict `:` type($x) `to` type($y)";
  let hasVerifier = 1;
}

def Tts_SumToOp : Tts_Op<"sum_to", [Tts_Precision,
    DeclareOpInterfaceMethods<Tts_AccumulatingOpInterface>, Tts_Differentiable]> {
  let summary = "sums over every dimension that is not kept; adjoint of broadcast";
  let description = [{
    Dimension i of the result is dimension `dims[i]` of `x` (ascending). `dims`
    is a prefix (sums of rows), the last dimension (sums of columns), the first
    and the last of three (sums over time) or empty (one number). The order of the sum is fixed: 32 interleaved lanes, then a
    tree. With `acc` the result is acc + sum.
  }];
  let arguments = (ins Tts_FloatTensor:$x, DenseI64ArrayAttr:$dims,
                       Optional<Tts_FloatTensor>:$acc);
  let results = (outs Tts_FloatTensor:$y);
  let assemblyFormat = "$x `dims` $dims (`into` $acc^ `:` type($acc))? attr-dict `:` type($x) `to` type($y)";
  let hasVerifier = 1;
}

def Tts_RecomputeAfterOp : Tts_Op<"recompute_after", [Tts_Alias, AllTypesMatch<["x", "y"]>, Tts_Precision]> {
  let summary = "x itself, for a computation that must wait until `when` is there";
  let description = [{
    What reads `y` is scheduled after the entry that makes `when`. Rematerialize
    puts it before the clones of forward ops in backward: a clone that could
    run at any time would be hoisted by a scheduler, and two of them at
    different moments merged by CSE, so that the peak would not fall. Memory
    erases it.

    Example: `%late = tts.recompute_after %x, %dy : tensor<8x64xf32>, tensor<8x80xf32>`
  }];
  let arguments = (ins Tts_AnyTensor:$x, Tts_AnyTensor:$when);
  let results = (outs Tts_AnyTensor:$y);
  let assemblyFormat = "$x `,` $when attr-dict `:` type($x) `,` type($when)";
}

def Tts_ConcatOp : Tts_Op<"concat", [Tts_KeepsPaddingZero, Tts_Differentiable, Tts_Follows]> {
  let summary = "parts side by side along the last dimension";
  let description = [{
    Example: `%y = tts.concat %a, %b : tensor<2x5x8xf32>, tensor<2x5x3xf32> to
    tensor<2x5x11xf32>`
  }];
  let arguments = (ins Variadic<Tts_FloatTensor>:$parts);
  let results = (outs Tts_FloatTensor:$y);
  let assemblyFormat = "$parts attr-dict `:` type($parts) `to` type($y)";
  let hasVerifier = 1;
}

def Tts_SplitOp : Tts_Op<"split", [Tts_KeepsPaddingZero, Tts_Differentiable, Tts_Follows]> {
  let summary = "the last dimension in parts, whose sizes are those of the results";
  let description = [{
    Example: `%scale, %shift = tts.split %x : tensor<2x16xf32> to
    tensor<2x8xf32>, tensor<2x8xf32>`
  }];
  let arguments = (ins Tts_FloatTensor:$x);
  let results = (outs Variadic<Tts_FloatTensor>:$parts);
  let assemblyFormat = "$x attr-dict `:` type($x) `to` type($parts)";
  let hasVerifier = 1;
}

def Tts_SqueezeOp : Tts_Op<"squeeze", [Tts_Alias, Tts_KeepsPaddingZero, Tts_Differentiable, Tts_Follows]> {
  let summary = "drops dimension `dim`, which has size 1";
  let arguments = (ins Tts_FloatTensor:$x, I64Attr:$dim);
  let results = (outs Tts_FloatTensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x) `to` type($y)";
  let hasVerifier = 1;
}

def Tts_UnsqueezeOp : Tts_Op<"unsqueeze", [Tts_Alias, Tts_KeepsPaddingZero, Tts_Differentiable, Tts_Follows]> {
  let summary = "inserts dimension `dim` of size 1";
  let arguments = (ins Tts_FloatTensor:$x, I64Attr:$dim);
  let results = (outs Tts_FloatTensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x) `to` type($y)";
  let hasVerifier = 1;
}

def Tts_MaskOp : Tts_Op<"mask", [Tts_Pointwise, AllTypesMatch<["x", "y"]>, Tts_KeepsPaddingZero, Tts_Differentiable, Tts_Follows]> {
  let summary = "zero at time steps at or beyond the utterance's length";
  let description = [{
    `x` is [batch, time] or [batch, time, channel]; y[b, t, c] = x[b, t, c]
    where t < lengths[b], else exactly 0 (also where x is not finite there).
  }];
  let arguments = (ins Tts_FloatTensor:$x, Tts_Lengths:$lengths);
  let results = (outs Tts_FloatTensor:$y);
  let assemblyFormat = "$x `,` $lengths attr-dict `:` type($x) `,` type($lengths)";
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
}

def Tts_EmbeddingOp : Tts_Op<"embedding", [Tts_Differentiable, Tts_Precision]> {
  let summary = "y[b, t, :] = table[ids[b, t], :]";
  let description = "An id outside the table reads row 0 (padding) and adds no gradient.";
  let arguments = (ins RankedTensorOf<[I32]>:$ids, 2DTensorOf<[F32, F64]>:$table);
  let results = (outs Tts_FloatTensor:$y);
  let assemblyFormat = "$ids `,` $table attr-dict `:` type($ids) `,` type($table) `to` type($y)";
  let hasVerifier = 1;
}

def Tts_EmbeddingGradOp : Tts_Op<"embedding_grad", [Tts_Precision,
    DeclareOpInterfaceMethods<Tts_AccumulatingOpInterface>]> {
  let summary = "dtable[ids[b, t], :] += dy[b, t, :], in the order of (b, t)";
  let arguments = (ins RankedTensorOf<[I32]>:$ids, Tts_FloatTensor:$dy,
                       Optional<Tts_FloatTensor>:$acc);
  let results = (outs Tts_FloatTensor:$dtable);
  let assemblyFormat = "$ids `,` $dy (`into` $acc^ `:` type($acc))? attr-dict `:` type($ids) `,` type($dy) `to` type($dtable)";
}

def Tts_SinusoidOp : Tts_Op<"sinusoid", [Tts_Follows]> {
  let summary = "sinusoidal positions [time, channel]";
  let description = [{
    y[t, 2i] = sin(t / 10000^(2i/C)), y[t, 2i+1] = cos(t / 10000^(2i/C))
    (Vaswani et al., arXiv:1706.03762), computed in f64 and rounded once.
  }];
  let results = (outs 2DTensorOf<[F32, F64]>:$y);
  let assemblyFormat = "attr-dict `:` type($y)";
}

def Tts_RotaryOp : Tts_Op<"rotary", [Tts_Pointwise, AllTypesMatch<["x", "y"]>, Tts_KeepsPaddingZero, Tts_Differentiable, Tts_Precision]> {
  let summary = "rotates pairs of channels by an angle that grows with time";
  let description = [{
    `x` is [batch, time, heads·d] (Select makes it [batch, time, heads, d] with
    `heads` = 1), `table` a `tts.sinusoid` [time, d] with the sine of pair i's
    angle at 2i and its cosine at 2i+1, in every head:
    y[2i] = x[2i]·cos - x[2i+1]·sin, y[2i+1] = x[2i+1]·cos + x[2i]·sin
    (Su et al., arXiv:2104.09864, eq. 34), so that the product of a query and a
    key depends on their distance alone. `inverse` rotates by the negative
    angle: the derivative, which needs no `x`. Computed in the table's element
    type.

    Example: `%y = tts.rotary %q, %positions {heads = 2 : i64} :
    tensor<?x?x64xf32, #tts.dims<batch, text, _>>, tensor<?x32xf32,
    #tts.dims<text, _>>`
  }];
  let arguments = (ins Tts_FloatTensor:$x, 2DTensorOf<[F32, F64]>:$table, I64Attr:$heads,
                       UnitAttr:$inverse);
  let results = (outs Tts_FloatTensor:$y);
  let assemblyFormat = "$x `,` $table attr-dict `:` type($x) `,` type($table)";
  let hasVerifier = 1;
}

def Tts_SinusoidAtOp : Tts_Op<"sinusoid_at"> {
  let summary = "sinusoidal embedding of a number per utterance";
  let description = [{
    y[b, 2i] = sin(scale · x[b] / 10000^(2i/C)), y[b, 2i+1] = cos(…), in f64 and
    rounded once: `tts.sinusoid` at places that are no whole numbers, such as
    the time of a flow. No gradient passes.
  }];
  let arguments = (ins 1DTensorOf<[F32, F64]>:$x, DefaultValuedAttr<F64Attr, "1.0">:$scale);
  let results = (outs 2DTensorOf<[F32, F64]>:$y);
  let assemblyFormat = "$x attr-dict `:` type($x) `to` type($y)";
  let hasVerifier = 1;
}

def Tts_BucketizeOp : Tts_Op<"bucketize"> {
  let summary = "how many boundaries lie strictly below x";
  let description = [{
    ids[i] = Σ_j (boundaries[j] < x[i]), an id in [0, len(boundaries)]:
    torch.bucketize's default (right = false). Boundaries ascend.
  }];
  let arguments = (ins Tts_FloatTensor:$x, 1DTensorOf<[F32, F64]>:$boundaries);
  let results = (outs RankedTensorOf<[I32]>:$ids);
  let assemblyFormat = "$x `,` $boundaries attr-dict `:` type($x) `,` type($boundaries) `to` type($ids)";
  let hasVerifier = 1;
}

def Tts_LengthRegulateOp : Tts_Op<"length_regulate", [Tts_Differentiable, Tts_TimeMixing, Tts_Follows]> {
  let summary = "repeats phone n durations[b, n] times along the frames";
  let description = [{
    `x` is [batch, text, channel], `y` [batch, frames, channel]:
    y[b, t] = x[b, n] for the n with Σ_{m<n} d[b, m] ≤ t < Σ_{m≤n} d[b, m], and
    0 past the last; negative durations count as 0 (FastSpeech,
    arXiv:1905.09263, §3.2).
  }];
  let arguments = (ins Tts_FloatTensor:$x, 2DTensorOf<[I32]>:$durations);
  let results = (outs Tts_FloatTensor:$y);
  let assemblyFormat = "$x `,` $durations attr-dict `:` type($x) `,` type($durations) `to` type($y)";
  let hasVerifier = 1;
}

def Tts_LengthRegulateGradOp : Tts_Op<"length_regulate_grad", [Tts_Follows]> {
  let summary = "dx[b, n] = Σ dy[b, t] over the frames t of phone n, in order";
  let arguments = (ins Tts_FloatTensor:$dy, 2DTensorOf<[I32]>:$durations);
  let results = (outs Tts_FloatTensor:$dx);
  let assemblyFormat = "$dy `,` $durations attr-dict `:` type($dy) `,` type($durations) `to` type($dx)";
}

def Tts_DropoutOp : Tts_Op<"dropout", [Tts_Pointwise, AllTypesMatch<["x", "y"]>, Tts_KeepsPaddingZero, Tts_Differentiable, Tts_Follows,
    DeclareOpInterfaceMethods<Tts_TrainingOnlyOpInterface>]> {
  let summary = "zeroes elements with probability `rate`, scales the rest by 1/(1-rate)";
  let description = [{
    `x` is [batch, time] or [batch, time, channel]. The draw of an element is
    Philox4x32-10 (Salmon et al., SC'11) with key = hash(seed, stream) and
    counter = (update, utterance, time, channel/4), output word channel mod 4:
    neither the padding, the micro-batch, the rank nor the order of ops enters,
    so backward draws the same mask again and nothing is stored. An element is
    kept when its 32-bit draw is at least floor(rate·2³²). `stream` is the op's
    own; two ops with the same stream draw the same mask.
  }];
  let arguments = (ins Tts_FloatTensor:$x, Tts_Utterances:$utterances,
                       Tts_Draw:$draw, F64Attr:$rate, StrAttr:$stream);
  let results = (outs Tts_FloatTensor:$y);
  let assemblyFormat = "$x `,` $utterances `,` $draw attr-dict `:` type($x) `,` type($utterances) `,` type($draw)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

#endif // TTS_DIALECT_TTS_IR_SHAPEOPS_TD
