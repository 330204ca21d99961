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

//===-- cross entropy over classes ------------------------------------------===//

def Tts_CountTargetsOp : Tts_Op<"count_targets"> {
  let summary = "how many targets count: cross entropy's denominator";
  let description = [{
    `targets` is [batch, time]; those count that lie in [0, classes), are not
    `ignore_index` (-100 as in PyTorch if not told) and stand at a step below the
    utterance's length.
  }];
  let arguments = (ins 2DTensorOf<[I32]>:$targets, Tts_Lengths:$lengths, I64Attr:$classes,
                       DefaultValuedAttr<I64Attr, "-100">:$ignore_index);
  let results = (outs Tts_Scalar:$n);
  let assemblyFormat = "$targets `,` $lengths attr-dict `:` type($targets) `,` type($lengths) `to` type($n)";
  let hasVerifier = 1;
}

def Tts_LinearCrossEntropyOp : Tts_Op<"linear_cross_entropy", [Tts_Differentiable, Tts_CostOfMany]> {
  let summary = "Σ over targets that count of ln Σ_v e^l[v] - l[target], l = x·w";
  let description = [{
    The last layer and its loss at once: `x` is [batch, time, in], `w` [in,
    classes], `targets` [batch, time]. Which of them count: `tts.count_targets`.
    A sum, never a mean; all targets ignored give 0. `lse` is ln Σ_v e^l[v] of
    each step, 0 where nothing counts, kept for the gradient.

    Select works on chunks of steps, so that no tensor has steps times classes;
    the gradient computes a chunk's logits again.
  }];
  let arguments = (ins Tts_FloatTensor:$x, 2DTensorOf<[F32, F64, F16, BF16]>:$w,
                       2DTensorOf<[I32]>:$targets, Tts_Lengths:$lengths,
                       DefaultValuedAttr<I64Attr, "-100">:$ignore_index);
  let results = (outs Tts_Scalar:$sum, 2DTensorOf<[F32, F64]>:$lse);
  let assemblyFormat = [{
    $x `,` $w `,` $targets `,` $lengths attr-dict
    `:` type($x) `,` type($w) `,` type($targets) `,` type($lengths) `to` type($sum) `,` type($lse)
  }];
  let hasVerifier = 1;
}

def Tts_LinearCrossEntropyGradOp : Tts_Op<"linear_cross_entropy_grad", [Tts_CostOfMany, AllTypesMatch<["x", "dx"]>,
    DeclareOpInterfaceMethods<Tts_AccumulatingOpInterface>]> {
  let summary = "dl = dsum · (e^(l - lse) - [v = target]) where a target counts, else 0; dw = xᵀ·dl, dx = dl·wᵀ";
  let arguments = (ins Tts_FloatTensor:$x, 2DTensorOf<[F32, F64, F16, BF16]>:$w,
                       2DTensorOf<[I32]>:$targets, Tts_Lengths:$lengths, 2DTensorOf<[F32, F64]>:$lse,
                       Tts_Scalar:$dsum, Optional<Tts_FloatTensor>:$acc,
                       DefaultValuedAttr<I64Attr, "-100">:$ignore_index);
  let results = (outs 2DTensorOf<[F32, F64]>:$dw, Tts_FloatTensor:$dx);
  let assemblyFormat = [{
    $x `,` $w `,` $targets `,` $lengths `,` $lse `,` $dsum (`into` $acc^ `:` type($acc))? attr-dict
    `:` type($x) `,` type($w) `,` type($targets) `,` type($lengths) `,` type($lse) `,` type($dsum) `to` type($dw)
  }];
}

def Tts_TargetRowsOp : Tts_Op<"target_rows", [Tts_Pointwise, AllTypesMatch<["targets", "rows"]>]> {
  let summary = "a target that counts, else -1; made by Select from cross entropy";
  let arguments = (ins 2DTensorOf<[I32]>:$targets, Tts_Lengths:$lengths, I64Attr:$classes,
                       I64Attr:$ignore_index);
  let results = (outs 2DTensorOf<[I32]>:$rows);
  let assemblyFormat = "$targets `,` $lengths attr-dict `:` type($targets) `,` type($lengths)";
}

def Tts_RowCrossEntropyOp : Tts_Op<"row_cross_entropy", [Tts_InPlaceOpInterface,
    AllTypesMatch<["losses", "lse", "new_losses", "new_lse"]>]> {
  let summary = "lse[r] = ln Σ_v e^l[r, v], losses[r] = lse[r] - l[r, target], for a chunk of rows";
  let description = [{
    Made by Select from cross entropy, in place: row i of `logits` [rows,
    classes] is row `first_row` + i of the others, whose other rows stay. A
    negative target gives 0 and 0.
  }];
  let arguments = (ins 2DTensorOf<[F32, F64, F16, BF16]>:$logits, 1DTensorOf<[I32]>:$targets,
                       1DTensorOf<[F32, F64]>:$losses, 1DTensorOf<[F32, F64]>:$lse, I64Attr:$first_row);
  let results = (outs 1DTensorOf<[F32, F64]>:$new_losses, 1DTensorOf<[F32, F64]>:$new_lse);
  let assemblyFormat = "$logits `,` $targets `,` $losses `,` $lse attr-dict `:` type($logits) `,` type($targets) `,` type($lse)";
  let extraClassDeclaration = Tts_InPlace<[2, 3]>.body;
}

def Tts_RowCrossEntropyGradOp : Tts_Op<"row_cross_entropy_grad", [Tts_InPlaceOpInterface,
    AllTypesMatch<["logits", "dlogits"]>]> {
  let summary = "dl[r, v] = dsum · (e^(l[r, v] - lse[r]) - [v = target[r]]), 0 for a negative target; in place of l";
  let arguments = (ins 2DTensorOf<[F32, F64, F16, BF16]>:$logits, 1DTensorOf<[I32]>:$targets,
                       1DTensorOf<[F32, F64]>:$lse, Tts_Scalar:$dsum);
  let results = (outs 2DTensorOf<[F32, F64, F16, BF16]>:$dlogits);
  let assemblyFormat = "$logits `,` $targets `,` $lse `,` $dsum attr-dict `:` type($logits) `,` type($targets) `,` type($lse) `,` type($dsum)";
  let extraClassDeclaration = Tts_InPlace<[0]>.body;
}

#endif // TTS_DIALECT_TTS_IR_LOSSOPS_TD
