//===- Passes.td - what backward computes again ---------------------------===//

#ifndef TTS_TRANSFORMS_REMAT_PASSES_TD
#define TTS_TRANSFORMS_REMAT_PASSES_TD

include "mlir/Pass/PassBase.td"

def TtsRematerialize : Pass<"tts-rematerialize", "::mlir::ModuleOp"> {
  let summary = "computes the plan's choice of forward values again in backward";
  let description = [{
    Assumes static programs and `tts.plan`. An op that `recompute` of the plan
    names is cloned before the first op of backward that reads its result, with
    what it needs, down to values that forward keeps; these become the stash,
    and what backward no longer reads leaves it. Views and constants are always
    cloned. A clone keeps its op's name, so it draws the same random numbers,
    and waits by `tts.recompute_after` for the last contraction before its
    reader. Refused: a name that forward does not have, an op with effects or
    one that overwrites its operand.

    Guarantees that no value changes, to the bit.
  }];
}

#endif // TTS_TRANSFORMS_REMAT_PASSES_TD
