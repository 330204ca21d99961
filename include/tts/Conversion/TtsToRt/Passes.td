//===- Passes.td - from tts ops to entries of the step table -------------===//

#ifndef TTS_CONVERSION_TTSTORT_PASSES_TD
#define TTS_CONVERSION_TTSTORT_PASSES_TD

include "mlir/Pass/PassBase.td"

def TtsSelect : Pass<"tts-select", "::mlir::ModuleOp"> {
  let summary = "each op becomes a library call or a generated kernel";
  let description = [{
    Assumes static shapes and final element types.

    Contractions become `rt.gemm` on views (a convolution is one product per
    tap over the rows where it overlaps the sequence, or `rt.conv1d` where the
    target wrote `rt.scratch` on it; attention works on blocks of queries, so
    that no tensor has time twice). Sums that the target marked `rt.epilogue` join
    the call of the product before them. The rest is grouped by
    `computeFusionGroups`, outlined (with `tts.unfused` on the module each op
    alone) into `rt.kernel` functions, de-duplicated by structure, and launched.

    Guarantees that programs hold only destination-passing rt ops.

    Does not order, place or allocate anything.
  }];
  let dependentDialects = ["::tts::rt::RtDialect", "::tts::TtsDialect"];
  let statistics = [
    Statistic<"numKernels", "kernels", "distinct kernels">,
    Statistic<"numLaunches", "launches", "kernel launches">
  ];
}

#endif // TTS_CONVERSION_TTSTORT_PASSES_TD
