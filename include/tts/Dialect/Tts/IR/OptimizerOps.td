//===- OptimizerOps.td - the update of one parameter ----------------------===//

#ifndef TTS_DIALECT_TTS_IR_OPTIMIZEROPS_TD
#define TTS_DIALECT_TTS_IR_OPTIMIZEROPS_TD

include "tts/Dialect/Tts/IR/TtsOpBase.td"

/// {lr, beta1, beta2, epsilon, weight_decay, 1/(1-beta1^t), 1/(1-beta2^t), ema_decay}
def Tts_Settings : Tts_Vector<[F32, F64], 8>;

def Tts_AdamWOp : Tts_Op<"adamw", [Tts_InPlaceOpInterface, AllTypesMatch<["p", "g", "m", "v", "new_p", "new_m", "new_v"]>]> {
  let summary = "AdamW on one parameter, in place";
  let description = [{
    g ← clip·g; m ← β1·m + (1-β1)·g; v ← β2·v + (1-β2)·g²;
    p ← p·(1 - lr·wd) - lr · (m·c1) / (√(v·c2) + ε), c1 = 1/(1-β1^t),
    c2 = 1/(1-β2^t) (Loshchilov and Hutter, arXiv:1711.05101, Algorithm 2).
    Settings are {lr, β1, β2, ε, wd, c1, c2, ema decay}; t counts updates. When
    `clip` is not finite nothing changes.
  }];
  let arguments = (ins Tts_FloatTensor:$p, Tts_FloatTensor:$g, Tts_FloatTensor:$m,
                       Tts_FloatTensor:$v, Tts_Settings:$settings, Tts_Scalar:$clip);
  let results = (outs Tts_FloatTensor:$new_p, Tts_FloatTensor:$new_m, Tts_FloatTensor:$new_v);
  let assemblyFormat = "$p `,` $g `,` $m `,` $v `,` $settings `,` $clip attr-dict `:` type($p) `,` type($settings) `,` type($clip)";
  let extraClassDeclaration = Tts_InPlace<[0, 2, 3]>.body;
}

def Tts_SgdOp : Tts_Op<"sgd", [Tts_InPlaceOpInterface, AllTypesMatch<["p", "g", "new_p"]>]> {
  let summary = "p ← p·(1 - lr·wd) - lr·clip·g, in place; nothing changes when clip is not finite";
  let arguments = (ins Tts_FloatTensor:$p, Tts_FloatTensor:$g, Tts_Settings:$settings, Tts_Scalar:$clip);
  let results = (outs Tts_FloatTensor:$new_p);
  let assemblyFormat = "$p `,` $g `,` $settings `,` $clip attr-dict `:` type($p) `,` type($settings) `,` type($clip)";
  let extraClassDeclaration = Tts_InPlace<[0]>.body;
}

def Tts_EmaOp : Tts_Op<"ema", [Tts_InPlaceOpInterface, AllTypesMatch<["e", "p", "new_e"]>]> {
  let summary = "e ← d·e + (1-d)·p, in place, once per update; nothing changes when clip is not finite";
  let arguments = (ins Tts_FloatTensor:$e, Tts_FloatTensor:$p, Tts_Settings:$settings, Tts_Scalar:$clip);
  let results = (outs Tts_FloatTensor:$new_e);
  let assemblyFormat = "$e `,` $p `,` $settings `,` $clip attr-dict `:` type($e) `,` type($settings) `,` type($clip)";
  let extraClassDeclaration = Tts_InPlace<[0]>.body;
}

def Tts_AdoptOp : Tts_Op<"adopt", [Tts_InPlaceOpInterface, AllTypesMatch<["state", "next", "new_state"]>]> {
  let summary = "state ← next, in place, once per update; nothing changes when clip is not finite";
  let arguments = (ins Tts_FloatTensor:$state, Tts_FloatTensor:$next, Tts_Scalar:$clip);
  let results = (outs Tts_FloatTensor:$new_state);
  let assemblyFormat = "$state `,` $next `,` $clip attr-dict `:` type($state) `,` type($clip)";
  let extraClassDeclaration = Tts_InPlace<[0]>.body;
}

def Tts_SumSquaresOp : Tts_Op<"sum_squares", [
    DeclareOpInterfaceMethods<Tts_AccumulatingOpInterface>]> {
  let summary = "Σ x², or acc + Σ x²";
  let arguments = (ins Tts_FloatTensor:$x, Optional<Tts_Scalar>:$acc);
  let results = (outs Tts_Scalar:$y);
  let assemblyFormat = "$x (`into` $acc^ `:` type($acc))? attr-dict `:` type($x) `to` type($y)";
}

def Tts_ClipFactorOp : Tts_Op<"clip_factor", [AllTypesMatch<["sum", "factor", "norm"]>]> {
  let summary = "norm = √sum; factor = min(1, max_norm/(norm + 1e-6)), NaN if the norm is not finite";
  let description = [{
    Clipping by the global norm (Pascanu et al., arXiv:1211.5063), after
    accumulation and reduction. Without `max_norm` the factor is 1. A factor
    that is not finite makes every update op a no-op.

    With `unscale` the gradients are those of losses times 1/unscale (fp16's loss
    scale): the norm and the factor are multiplied by it.
  }];
  let arguments = (ins Tts_Scalar:$sum, Optional<Tts_Scalar>:$unscale, OptionalAttr<F64Attr>:$max_norm);
  let results = (outs Tts_Scalar:$factor, Tts_Scalar:$norm);
  let assemblyFormat = "$sum (`unscale` $unscale^ `:` type($unscale))? attr-dict `:` type($sum)";
}

#endif // TTS_DIALECT_TTS_IR_OPTIMIZEROPS_TD
