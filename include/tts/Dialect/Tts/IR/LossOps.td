//===- LossOps.td - losses as (sum, denominator) --------------------------===//

#ifndef TTS_DIALECT_TTS_IR_LOSSOPS_TD
#define TTS_DIALECT_TTS_IR_LOSSOPS_TD

include "tts/Dialect/Tts/IR/TtsOpBase.td"

class Tts_LossSum<string mnemonic> : Tts_Op<mnemonic, [AllTypesMatch<["prediction", "target"]>,
    Tts_Differentiable]> {
  let arguments = (ins Tts_FloatTensor:$prediction, Tts_FloatTensor:$target, Tts_Lengths:$lengths);
  let results = (outs Tts_Scalar:$sum);
  let assemblyFormat = "$prediction `,` $target `,` $lengths attr-dict `:` type($prediction) `,` type($lengths) `to` type($sum)";
  let hasVerifier = 1;
}
class Tts_LossGrad<string mnemonic> : Tts_Op<mnemonic, [Tts_Pointwise,
    AllTypesMatch<["prediction", "target", "gradient"]>, Tts_KeepsPaddingZero]> {
  let arguments = (ins Tts_FloatTensor:$prediction, Tts_FloatTensor:$target,
                       Tts_Lengths:$lengths, Tts_Scalar:$dsum);
  let results = (outs Tts_FloatTensor:$gradient);
  let assemblyFormat = "$prediction `,` $target `,` $lengths `,` $dsum attr-dict `:` type($prediction) `,` type($lengths) `,` type($dsum)";
}

def Tts_L1LossOp : Tts_LossSum<"l1_loss"> {
  let summary = "Σ |prediction - target| over valid time steps: a sum, never a mean";
  let description = [{
    [batch, time] or [batch, time, channel], valid where time < lengths[b].
    Division by the update's whole count happens once, outside: a mean of means
    cannot be written.
  }];
}
def Tts_L1LossGradOp : Tts_LossGrad<"l1_loss_grad"> {
  let summary = "dsum · sign(prediction - target) where valid, else 0";
}
def Tts_MseLossOp : Tts_LossSum<"mse_loss"> {
  let summary = "Σ (prediction - target)² over valid time steps";
}
def Tts_MseLossGradOp : Tts_LossGrad<"mse_loss_grad"> {
  let summary = "dsum · 2 (prediction - target) where valid, else 0";
}

def Tts_CountOp : Tts_Op<"count"> {
  let summary = "per · Σ_b lengths[b]: a loss's denominator";
  let arguments = (ins Tts_Lengths:$lengths, DefaultValuedAttr<F64Attr, "1.0">:$per);
  let results = (outs Tts_Scalar:$n);
  let assemblyFormat = "$lengths attr-dict `:` type($lengths) `to` type($n)";
}

#endif // TTS_DIALECT_TTS_IR_LOSSOPS_TD
