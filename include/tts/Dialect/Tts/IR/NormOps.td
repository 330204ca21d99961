//===- NormOps.td - normalisation over channels ---------------------------===//

#ifndef TTS_DIALECT_TTS_IR_NORMOPS_TD
#define TTS_DIALECT_TTS_IR_NORMOPS_TD

include "tts/Dialect/Tts/IR/TtsOpBase.td"

def Tts_LayerNormOp : Tts_Op<"layer_norm", [AllTypesMatch<["x", "y"]>,
    AllTypesMatch<["gamma", "beta"]>, AllTypesMatch<["mean", "rstd"]>, Tts_Differentiable, Tts_Precision]> {
  let summary = "y = (x - mean) · rstd · gamma + beta over the last dimension";
  let description = [{
    mean = Σx/C, rstd = 1/√(Σ(x-mean)²/C + epsilon) (Ba et al.,
    arXiv:1607.06450), two passes; both are kept for the gradient, shaped like
    `x` without its last dimension.
  }];
  let arguments = (ins Tts_FloatTensor:$x, 1DTensorOf<[F32, F64]>:$gamma,
                       1DTensorOf<[F32, F64]>:$beta, F64Attr:$epsilon);
  let results = (outs Tts_FloatTensor:$y, Tts_FloatTensor:$mean, Tts_FloatTensor:$rstd);
  let assemblyFormat = "$x `,` $gamma `,` $beta attr-dict `:` type($x) `,` type($gamma) `to` type($mean)";
  let hasVerifier = 1;
}

def Tts_LayerNormGradOp : Tts_Op<"layer_norm_grad",
    [AllTypesMatch<["dy", "x", "dx"]>, AllTypesMatch<["mean", "rstd"]>, Tts_Precision]> {
  let summary = "dx = rstd · (g - Σg/C - xhat · Σ(g·xhat)/C), g = dy·gamma, xhat = (x-mean)·rstd";
  let arguments = (ins Tts_FloatTensor:$dy, Tts_FloatTensor:$x, Tts_FloatTensor:$mean,
                       Tts_FloatTensor:$rstd, 1DTensorOf<[F32, F64]>:$gamma);
  let results = (outs Tts_FloatTensor:$dx);
  let assemblyFormat = "$dy `,` $x `,` $mean `,` $rstd `,` $gamma attr-dict `:` type($x) `,` type($mean) `,` type($gamma)";
}

def Tts_LayerNormGammaGradOp : Tts_Op<"layer_norm_gamma_grad", [
    AllTypesMatch<["dy", "x"]>, AllTypesMatch<["mean", "rstd"]>, Tts_Precision,
    DeclareOpInterfaceMethods<Tts_AccumulatingOpInterface>]> {
  let summary = "dgamma[c] = Σ over rows of dy[..., c] · (x[..., c] - mean) · rstd";
  let arguments = (ins Tts_FloatTensor:$dy, Tts_FloatTensor:$x, Tts_FloatTensor:$mean,
                       Tts_FloatTensor:$rstd, Optional<Tts_FloatTensor>:$acc);
  let results = (outs 1DTensorOf<[F32, F64]>:$dgamma);
  let assemblyFormat = "$dy `,` $x `,` $mean `,` $rstd (`into` $acc^ `:` type($acc))? attr-dict `:` type($x) `,` type($mean) `to` type($dgamma)";
}

def Tts_RmsNormOp : Tts_Op<"rms_norm", [AllTypesMatch<["x", "y"]>, Tts_Differentiable, Tts_Precision]> {
  let summary = "y = x · rstd · gamma over the last dimension";
  let description = [{
    rstd = 1/√(Σx²/C + epsilon) (Zhang and Sennrich, arXiv:1910.07467), kept for
    the gradient, shaped like `x` without its last dimension.
  }];
  let arguments = (ins Tts_FloatTensor:$x, 1DTensorOf<[F32, F64]>:$gamma, F64Attr:$epsilon);
  let results = (outs Tts_FloatTensor:$y, Tts_FloatTensor:$rstd);
  let assemblyFormat = "$x `,` $gamma attr-dict `:` type($x) `,` type($gamma) `to` type($rstd)";
  let hasVerifier = 1;
}

def Tts_RmsNormGradOp : Tts_Op<"rms_norm_grad", [AllTypesMatch<["dy", "x", "dx"]>, Tts_Precision]> {
  let summary = "dx = rstd · (g - xhat · Σ(g·xhat)/C), g = dy·gamma, xhat = x·rstd";
  let arguments = (ins Tts_FloatTensor:$dy, Tts_FloatTensor:$x, Tts_FloatTensor:$rstd,
                       1DTensorOf<[F32, F64]>:$gamma);
  let results = (outs Tts_FloatTensor:$dx);
  let assemblyFormat = "$dy `,` $x `,` $rstd `,` $gamma attr-dict `:` type($x) `,` type($rstd) `,` type($gamma)";
}

def Tts_RmsNormGammaGradOp : Tts_Op<"rms_norm_gamma_grad", [AllTypesMatch<["dy", "x"]>, Tts_Precision,
    DeclareOpInterfaceMethods<Tts_AccumulatingOpInterface>]> {
  let summary = "dgamma[c] = Σ over rows of dy[..., c] · x[..., c] · rstd";
  let arguments = (ins Tts_FloatTensor:$dy, Tts_FloatTensor:$x, Tts_FloatTensor:$rstd,
                       Optional<Tts_FloatTensor>:$acc);
  let results = (outs 1DTensorOf<[F32, F64]>:$dgamma);
  let assemblyFormat = "$dy `,` $x `,` $rstd (`into` $acc^ `:` type($acc))? attr-dict `:` type($x) `,` type($rstd) `to` type($dgamma)";
}

def Tts_TimeNormOp : Tts_Op<"time_norm", [Tts_Differentiable, Tts_TimeMixing]> {
  let summary = "n[b, c] = √(Σ_t x[b, t, c]²): the length of a channel over time";
  let description = [{
    What global response normalisation divides by (ConvNeXt V2, arXiv:2301.00808).
    Time steps are added in the order of `tts.sum_to`. An empty slot has 0.
  }];
  let arguments = (ins 3DTensorOf<[F32, F64, F16, BF16]>:$x);
  let results = (outs 2DTensorOf<[F32, F64, F16, BF16]>:$n);
  let assemblyFormat = "$x attr-dict `:` type($x) `to` type($n)";
  let hasVerifier = 1;
}

def Tts_TimeNormGradOp : Tts_Op<"time_norm_grad", [Tts_Pointwise, AllTypesMatch<["x", "dx"]>,
    AllTypesMatch<["n", "dn"]>]> {
  let summary = "dx[b, t, c] = x[b, t, c] · dn[b, c] / n[b, c], 0 where n = 0";
  let arguments = (ins 3DTensorOf<[F32, F64, F16, BF16]>:$x, 2DTensorOf<[F32, F64, F16, BF16]>:$n,
                       2DTensorOf<[F32, F64, F16, BF16]>:$dn);
  let results = (outs 3DTensorOf<[F32, F64, F16, BF16]>:$dx);
  let assemblyFormat = "$x `,` $n `,` $dn attr-dict `:` type($x) `,` type($n)";
}

#endif // TTS_DIALECT_TTS_IR_NORMOPS_TD
