//===- Passes.td - element types as planned -------------------------------===//

#ifndef TTS_TRANSFORMS_PRECISION_PASSES_TD
#define TTS_TRANSFORMS_PRECISION_PASSES_TD

include "mlir/Pass/PassBase.td"

def TtsPrecision : Pass<"tts-precision", "::mlir::ModuleOp"> {
  let summary = "gives every float tensor the plan's element type";
  let description = [{
    Assumes `tts.plan`; a model file is written in f32. With `fp32` nothing
    changes; with `fp64` every f32 tensor, parameters and states included,
    becomes f64 (gradients are checked in it).

    Guarantees that element types are final: no later phase changes one.
  }];
}

#endif // TTS_TRANSFORMS_PRECISION_PASSES_TD
