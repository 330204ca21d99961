//===- BatchNormOps.td - normalisation over the batch and time ------------===//

#ifndef TTS_DIALECT_TTS_IR_BATCHNORMOPS_TD
#define TTS_DIALECT_TTS_IR_BATCHNORMOPS_TD

include "tts/Dialect/Tts/IR/TtsOpBase.td"

def Tts_PerChannel : 1DTensorOf<[F32, F64]>;

def Tts_BatchNormOp : Tts_Op<"batch_norm", [AllTypesMatch<["x", "y"]>,
    AllTypesMatch<["gamma", "beta", "running_mean", "running_variance"]>,
    DeclareOpInterfaceMethods<Tts_TrainingOnlyOpInterface>,
    DeclareOpInterfaceMethods<Tts_StatefulOpInterface>]> {
  let summary = "y = (x - mean) / √(variance + epsilon) · gamma + beta over the update's valid frames";
  let description = [{
    `x` is [batch, time, channel]; each channel's mean and (biased) variance are
    taken over all frames t < lengths[b] of all utterances of the update (Ioffe
    and Szegedy, arXiv:1502.03167); empty slots and padding weigh nothing.

    In training, running ← (1 - momentum) · running + momentum · batch once per
    update, with the unbiased variance, as PyTorch's BatchNorm1d does; an update
    without a frame, or whose gradient is not finite, leaves them. Evaluation
    normalises with the running values. Both are parameters with `tts.state`.

    Only in @train: Differentiate takes it apart into `tts.batch_statistics`,
    `tts.batch_normalize` and `tts.running_average`. In @infer write
    `tts.batch_normalize`.

    Example: `%y = tts.batch_norm %x, %gamma, %beta, %mean, %variance, %lengths
    {epsilon = 1.0e-5 : f64, momentum = 0.1 : f64} :
    tensor<?x?x512xf32, #tts.dims<batch, frames, _>>, tensor<512xf32>,
    tensor<?xi32, #tts.dims<batch>>`
  }];
  let arguments = (ins Tts_FloatTensor:$x, Tts_PerChannel:$gamma, Tts_PerChannel:$beta,
                       Tts_PerChannel:$running_mean, Tts_PerChannel:$running_variance,
                       Tts_Lengths:$lengths, F64Attr:$epsilon, F64Attr:$momentum);
  let results = (outs Tts_FloatTensor:$y);
  let assemblyFormat = "$x `,` $gamma `,` $beta `,` $running_mean `,` $running_variance `,` $lengths attr-dict `:` type($x) `,` type($gamma) `,` type($lengths)";
  let hasVerifier = 1;
}

def Tts_BatchStatisticsOp : Tts_Op<"batch_statistics", [
    AllTypesMatch<["mean", "rstd", "variance"]>, Tts_NeedsWholeBatch, Tts_Differentiable]> {
  let summary = "mean = Σx/n, variance = Σ(x-mean)²/n, rstd = 1/√(variance + epsilon) over valid frames, per channel";
  let description = [{
    Two passes over the frames t < lengths[b], `n` of them; 0 and 1/√epsilon
    when there are none. Pure: made twice, nothing happens twice.
    Made by Differentiate from `tts.batch_norm`.
  }];
  let arguments = (ins Tts_FloatTensor:$x, Tts_Lengths:$lengths, Tts_Scalar:$n, F64Attr:$epsilon);
  let results = (outs Tts_PerChannel:$mean, Tts_PerChannel:$rstd, Tts_PerChannel:$variance);
  let assemblyFormat = "$x `,` $lengths `,` $n attr-dict `:` type($x) `,` type($lengths) `,` type($n) `to` type($mean)";
  let hasVerifier = 1;
}

def Tts_BatchStatisticsGradOp : Tts_Op<"batch_statistics_grad", [Tts_Pointwise, Tts_KeepsPaddingZero,
    AllTypesMatch<["x", "dx"]>, AllTypesMatch<["mean", "rstd", "dmean", "drstd"]>]> {
  let summary = "dx = (dmean - drstd · rstd³ · (x - mean)) / n where valid, else 0";
  let arguments = (ins Tts_FloatTensor:$x, Tts_PerChannel:$mean, Tts_PerChannel:$rstd,
                       Tts_PerChannel:$dmean, Tts_PerChannel:$drstd, Tts_Lengths:$lengths, Tts_Scalar:$n);
  let results = (outs Tts_FloatTensor:$dx);
  let assemblyFormat = "$x `,` $mean `,` $rstd `,` $dmean `,` $drstd `,` $lengths `,` $n attr-dict `:` type($x) `,` type($mean) `,` type($lengths) `,` type($n)";
}

def Tts_BatchNormalizeOp : Tts_Op<"batch_normalize", [Tts_Pointwise, AllTypesMatch<["x", "y"]>,
    AllTypesMatch<["mean", "rstd", "gamma", "beta"]>, Tts_Differentiable]> {
  let summary = "y = (x - mean) · rstd · gamma + beta, one of each per channel";
  let description = [{
    What batch normalisation does once its statistics are known: the batch's in
    training, the running ones in evaluation and in @infer.
  }];
  let arguments = (ins Tts_FloatTensor:$x, Tts_PerChannel:$mean, Tts_PerChannel:$rstd,
                       Tts_PerChannel:$gamma, Tts_PerChannel:$beta);
  let results = (outs Tts_FloatTensor:$y);
  let assemblyFormat = "$x `,` $mean `,` $rstd `,` $gamma `,` $beta attr-dict `:` type($x) `,` type($mean)";
  let hasVerifier = 1;
}

def Tts_BatchNormalizeGradOp : Tts_Op<"batch_normalize_grad", [Tts_Pointwise, Tts_KeepsPaddingZero,
    AllTypesMatch<["dy", "dx"]>, AllTypesMatch<["rstd", "gamma"]>]> {
  let summary = "dx = dy · (rstd · gamma), one of each per channel";
  let arguments = (ins Tts_FloatTensor:$dy, Tts_PerChannel:$rstd, Tts_PerChannel:$gamma);
  let results = (outs Tts_FloatTensor:$dx);
  let assemblyFormat = "$dy `,` $rstd `,` $gamma attr-dict `:` type($dy) `,` type($rstd)";
}

def Tts_BatchNormalizeGammaGradOp : Tts_Op<"batch_normalize_gamma_grad", [
    AllTypesMatch<["dy", "x"]>, AllTypesMatch<["mean", "rstd", "dgamma"]>,
    DeclareOpInterfaceMethods<Tts_AccumulatingOpInterface>]> {
  let summary = "dgamma[c] = Σ over batch and time of dy[..., c] · (x[..., c] - mean[c]) · rstd[c]";
  let arguments = (ins Tts_FloatTensor:$dy, Tts_FloatTensor:$x, Tts_PerChannel:$mean,
                       Tts_PerChannel:$rstd, Optional<Tts_PerChannel>:$acc);
  let results = (outs Tts_PerChannel:$dgamma);
  let assemblyFormat = "$dy `,` $x `,` $mean `,` $rstd (`into` $acc^ `:` type($acc))? attr-dict `:` type($x) `,` type($mean)";
}

def Tts_RunningAverageOp : Tts_Op<"running_average", [Tts_Pointwise,
    AllTypesMatch<["running", "batch", "next"]>]> {
  let summary = "next = (1 - momentum) · running + momentum · batch; running where n is 0";
  let description = [{
    `n` frames made `batch`. With `unbiased` it is a variance, taken times
    n/(n - 1) (times 1 for a single frame). Overwrites nothing: the next value
    is a result of forward, which `update` adopts.
  }];
  let arguments = (ins Tts_PerChannel:$running, Tts_PerChannel:$batch, Tts_Scalar:$n,
                       F64Attr:$momentum, UnitAttr:$unbiased);
  let results = (outs Tts_PerChannel:$next);
  let assemblyFormat = "$running `,` $batch `,` $n attr-dict `:` type($running) `,` type($n)";
}

#endif // TTS_DIALECT_TTS_IR_BATCHNORMOPS_TD
