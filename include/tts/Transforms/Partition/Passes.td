//===- Passes.td - one job over several ranks -----------------------------===//

#ifndef TTS_TRANSFORMS_PARTITION_PASSES_TD
#define TTS_TRANSFORMS_PARTITION_PASSES_TD

include "mlir/Pass/PassBase.td"

def TtsPartition : Pass<"tts-partition", "::mlir::ModuleOp"> {
  let summary = "divides the job over the ranks of tts.ranks";
  let description = [{
    Every rank takes its share of an update's utterances; the loader and the
    denominators of the whole update are the runtime's. Where each holds a replica
    what is left is one sum: `update` reads each gradient after a `tts.all_reduce`
    of all of them, at its head, one op for each element type. Without `tts.ranks`,
    or with one rank, nothing changes.

    With `tts.deterministic` there are four groups of micro-batches, and those of a
    rank get programs `fold.0`, `fold.1`… which add their sums as a tree; one rank
    and two then round as four do.

    `tts.state_sharding` says which states a rank has shards of only. "optimizer":
    moments and averages; `update` scatters the gradients' sums, works on shards and
    gathers the parameters. "gradients": backward adds each micro-batch's sums to
    shards. "parameters": programs gather each parameter before they read it.

    `tts.stage_starts` are the ops of forward that the stages of a pipeline begin with,
    `tts.stage` says which of them this module becomes: each program keeps what that stage
    computes, with a `tts.send` and a `tts.receive` for what it gives and gets; `update` keeps the
    parameters that the stage owns and sums their gradients over the replicas of the stage, and
    the norm over the stages. `infer` is dropped.

    Assumes static programs, all buckets of a kind that will run at the same time on
    different ranks. Guarantees that every gradient that is read is reduced exactly
    once per update (or micro-batch), whatever buckets ran, and that the programs of
    one kind execute the same collectives in the same order.
  }];
}

#endif // TTS_TRANSFORMS_PARTITION_PASSES_TD
