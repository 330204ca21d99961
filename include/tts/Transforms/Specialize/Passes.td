//===- Passes.td - from symbolic shapes to one program per bucket --------===//

#ifndef TTS_TRANSFORMS_SPECIALIZE_PASSES_TD
#define TTS_TRANSFORMS_SPECIALIZE_PASSES_TD

include "mlir/Pass/PassBase.td"

def TtsSpecialize : Pass<"tts-specialize", "::mlir::ModuleOp"> {
  let summary = "clones each program per bucket, with the plan's micro-batch";
  let description = [{
    Assumes `tts.buckets` and `tts.plan` on the module and programs on symbolic
    shapes (after tts-differentiate).

    Guarantees static shapes without encodings. A program with a symbolic shape
    becomes one clone per bucket, `@forward_b0`…, with `tts.bucket_index`: the
    dimension `batch` is the bucket's micro-batch, the others are the bucket's
    sizes. Programs without one (zero, update) stay single.

    Does not choose anything.
  }];
  let options = [
    Option<"onlyBucket", "only-bucket", "int64_t", "-1",
           "keep this bucket's programs alone (planning), with -2 those of no "
           "bucket; -1: all">
  ];
}

#endif // TTS_TRANSFORMS_SPECIALIZE_PASSES_TD
