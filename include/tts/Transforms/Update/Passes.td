//===- Passes.td - where parameters are updated ----------------------------===//

#ifndef TTS_TRANSFORMS_UPDATE_PASSES_TD
#define TTS_TRANSFORMS_UPDATE_PASSES_TD

include "mlir/Pass/PassBase.td"

def TtsMoveUpdate : Pass<"tts-move-update", "::mlir::ModuleOp"> {
  let summary = "updates each parameter in backward, as soon as its gradient is final";
  let description = [{
    Assumes static programs in their final element types, backward with its
    recomputed clones in place, and `tts.plan`. Without `tts.update_in_backward`
    beside the plan it changes nothing.

    Each op of `update` goes into backward, behind the last of what it reads: a
    parameter's update behind the last contribution to its gradient, its moving
    average and half copy behind that. Backward takes the optimizer's states and
    scalars, gives what `update` gave, and takes and gives no gradient: the first
    contribution is the gradient instead of being added to a cleared one. `zero`
    and `update` are gone. A parameter keeps its old value for every reader in
    backward: they read the argument, and Memory orders them before the update.

    Refuses plans in which an update is several micro-batches, gradients that are
    clipped by their global norm, and fp16: then no gradient is final before the
    others are. Nothing guards a parameter against a gradient that is not finite.
  }];
  let dependentDialects = ["::tts::TtsDialect"];
}

#endif // TTS_TRANSFORMS_UPDATE_PASSES_TD
