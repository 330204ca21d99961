//===- Passes.td - passes that call whole phases --------------------------===//

#ifndef TTS_PIPELINES_PASSES_TD
#define TTS_PIPELINES_PASSES_TD

include "mlir/Pass/PassBase.td"

def PlanPass : Pass<"tts-plan", "::mlir::ModuleOp"> {
  let summary = "chooses micro-batches, what is computed again and what is kept in half under a memory budget";
  let description = [{
    Assumes: a module after tts-differentiate with `tts.batch` and
    `tts.buckets`.

    Guarantees: `tts.plan` on the module: the fastest choice of a
    budget-independent list whose exactly packed peak fits. A lower budget
    never raises the peak. When nothing fits, the error names the smallest
    feasible budget, the classes that bind and the cheapest way out. With
    several ranks each takes its share of the batch, `tts.ranks` says how many
    there are, and the sum of the gradients counts in time and bytes; where each
    keeps its shards only of some states, `tts.state_sharding` says of which.

    Does not: change any op.
  }];
  let dependentDialects = ["::tts::TtsDialect", "::tts::rt::RtDialect"];
  let options = [
    Option<"memoryBudget", "memory-budget", "std::string", /*default=*/"\"\"",
           "bytes, such as 80G; without it what the hardware offers">,
    Option<"hardware", "hardware", "std::string", /*default=*/"\"\"",
           "name or FILE.json; without it tts.hardware or host">,
    Option<"ranks", "ranks", "int64_t", /*default=*/"1", "data replicas">,
    Option<"shardStates", "shard-states", "std::string", /*default=*/"\"auto\"",
           "auto, none, optimizer, gradients or parameters: a rank keeps its "
           "shards only of these">,
    Option<"deterministic", "deterministic", "bool", /*default=*/"false",
           "the same bits on 1, 2 and 4 ranks">,
    Option<"threads", "threads", "int64_t", /*default=*/"1",
           "CPU threads per rank">,
    Option<"precision", "precision", "std::string", /*default=*/"\"auto\"",
           "auto, fp64, fp32, bf16 or fp16">,
    Option<"remat", "remat", "std::string", /*default=*/"\"auto\"",
           "auto, none or full">,
    Option<"halfStorage", "half-storage", "std::string", /*default=*/"\"none\"",
           "none; auto, bf16 or fp16: what forward keeps may be kept in half">,
    Option<"microBatch", "micro-batch", "int64_t", /*default=*/"0",
           "pins the micro-batch; 0: chosen">,
    Option<"optimizerInBackward", "optimizer-in-backward", "std::string",
           /*default=*/"\"none\"", "none, auto or on">
  ];
}

def PrintWorkPass : Pass<"tts-print-work", "::mlir::ModuleOp"> {
  let summary = "prints what each entry of a training step does, one JSON object a line";
  let description = [{
    Assumes: a module after tts-memory.

    Guarantees: on stdout, for each entry that a training step runs, what the
    time model knows of it: program, bucket and index in the program; a library
    call's product and how many; a kernel's operations and elements; each
    operand's bytes, and how many others were touched since they were. `python
    -m tts.calibrate` fits a machine's figures to it.

    Does not: change any op.
  }];
}

#endif // TTS_PIPELINES_PASSES_TD
