//===- Passes.td - element types as planned -------------------------------===//

#ifndef TTS_TRANSFORMS_PRECISION_PASSES_TD
#define TTS_TRANSFORMS_PRECISION_PASSES_TD

include "mlir/Pass/PassBase.td"

def TtsChooseHalfCopies : Pass<"tts-choose-half-copies", "::mlir::ModuleOp"> {
  let summary = "decides which parameters are kept in the plan's half type beside f32";
  let description = [{
    Assumes `tts.plan` and the programs of Differentiate, all of them: runs
    before tts-specialize, which may drop some while the planner looks at others.

    Guarantees, where the plan says bf16 or fp16, `tts.half_copies` on the module:
    the names of the parameters that a program reads in the half type. Changes
    no op.
  }];
}

def TtsPrecision : Pass<"tts-precision", "::mlir::ModuleOp"> {
  let summary = "gives every float tensor the plan's element type";
  let description = [{
    Assumes `tts.plan`; a model file is written in f32. With `fp32` nothing
    changes; with `fp64` every f32 tensor, parameters and states included,
    becomes f64 (gradients are checked in it).

    With `bf16` and `fp16` each op of forward, backward, eval and infer gets the
    types that its `PrecisionOpInterface` asks for: contractions take the half
    type, element-wise ops follow their operands, everything else is f32, and so
    are parameters, gradients, losses and outputs. A value is cast once and all
    its readers share the cast. A parameter that `tts.half_copies` names comes as
    an argument `tts.half_copy`, which the update writes; others are cast where
    they are read. A stash that backward reads in the half type only is stashed
    in it. With `fp16` the update divides gradients by the loss scale.

    Guarantees that element types are final: no later phase changes one.
  }];
}

def TtsStoreHalf : Pass<"tts-store-half", "::mlir::ModuleOp"> {
  let summary = "keeps the plan's choice of forward values for backward in a half type";
  let description = [{
    Assumes static programs in f32 and `tts.plan`; runs before
    tts-rematerialize. For each `#tts.store` of a bucket forward rounds the value
    once, beside its definition, and hands that to backward in its place; each
    reader of backward has a cast back to f32 of its own, which waits by
    `tts.recompute_after` for the last contraction before it, so that no f32 copy
    lives longer than its reader. A value that backward does not read itself
    gets a stash for what tts-rematerialize computes again from it. Refused:
    names that forward does not have, and values that have to stay f32: inputs,
    integers, statistics, sums and losses.

    Guarantees that forward computes what it did, to the bit.
  }];
}

#endif // TTS_TRANSFORMS_PRECISION_PASSES_TD
