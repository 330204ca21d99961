//===- Passes.td - every byte of every program ----------------------------===//

#ifndef TTS_TRANSFORMS_MEMORY_PASSES_TD
#define TTS_TRANSFORMS_MEMORY_PASSES_TD

include "mlir/Pass/PassBase.td"

def TtsMemory : Pass<"tts-memory", "::mlir::ModuleOp"> {
  let summary = "orders entries, gives every value bytes of one arena";
  let description = [{
    Assumes programs of rt ops on tensors (after tts-select).

    1. Storage: results that are tied, aliases and slices share their operand's
       storage; states, inputs and run-time scalars have persistent storage.
    2. Schedule: entries are listed so that values die early; every reader of a
       value comes before the entry that overwrites it.
    3. Live ranges on the timelines [forward, backward] of a bucket and of every
       other program alone; a pointwise result takes over a dying operand.
    4. Packing of each timeline above the persistent bytes.

    Guarantees `rt.program`s of `rt.entry`s and the module attributes named in
    RtDialect.h; no copy: a result that would need one is an error.
  }];
  let dependentDialects = ["::tts::rt::RtDialect"];
  let statistics = [
    Statistic<"numEntries", "entries", "rows of the step table">,
    Statistic<"numBuffers", "buffers", "live ranges">
  ];
}

#endif // TTS_TRANSFORMS_MEMORY_PASSES_TD
