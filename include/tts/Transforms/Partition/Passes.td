//===- Passes.td - one job over several ranks -----------------------------===//

#ifndef TTS_TRANSFORMS_PARTITION_PASSES_TD
#define TTS_TRANSFORMS_PARTITION_PASSES_TD

include "mlir/Pass/PassBase.td"

def TtsPartition : Pass<"tts-partition", "::mlir::ModuleOp"> {
  let summary = "divides the job over the ranks of tts.ranks";
  let description = [{
    Every rank holds a replica and takes its share of an update's utterances; the
    loader and the denominators of the whole update are the runtime's. What is
    left is one sum: `update` reads each gradient after a `tts.all_reduce` of all
    of them, at its head, one op for each element type. Without `tts.ranks`, or
    with one rank, nothing changes.

    With `tts.deterministic` there are four groups of micro-batches, and those of a
    rank get programs `fold.0`, `fold.1`… which add their sums as a tree; one rank
    and two then round as four do.

    Assumes static programs. Guarantees that every gradient that is read is reduced
    exactly once per update, whatever buckets ran.
  }];
}

#endif // TTS_TRANSFORMS_PARTITION_PASSES_TD
