//===- Passes.td - what backward computes again ---------------------------===//

#ifndef TTS_TRANSFORMS_REMAT_PASSES_TD
#define TTS_TRANSFORMS_REMAT_PASSES_TD

include "mlir/Pass/PassBase.td"

def TtsRematerialize : Pass<"tts-rematerialize", "::mlir::ModuleOp"> {
  let summary = "computes the plan's choice of forward values again in backward";
  let description = [{
    Assumes static programs and `tts.plan`. For each `#tts.recompute` of a
    bucket the op of forward is cloned in backward where it says; from there on
    readers take the clone's results, until the next clone of the same op. A
    clone reads earlier clones in the same way; a value without one is what
    forward keeps: these make the stash, and what backward no longer reads
    leaves it. Views and constants are always cloned. A clone keeps its op's
    name, so it draws the same random numbers, and waits by
    `tts.recompute_after` for the last contraction before it. Refused: names
    that forward or backward do not have or that come out of order, an op with
    effects or one that overwrites its operand.

    Guarantees that no value changes, to the bit.
  }];
}

#endif // TTS_TRANSFORMS_REMAT_PASSES_TD
