//===- Passes.td - from a training function to the step's programs --------===//

#ifndef TTS_TRANSFORMS_DIFFERENTIATE_PASSES_TD
#define TTS_TRANSFORMS_DIFFERENTIATE_PASSES_TD

include "mlir/Pass/PassBase.td"

def InsertMasks : Pass<"tts-insert-masks", "::mlir::func::FuncOp"> {
  let summary = "masks what time-mixing ops read, unless it is zero in the padding";
  let description = [{
    Before each op with `TimeMixingOpInterface` an operand that is not provably
    zero at padded time steps goes through `tts.mask`, with the lengths that
    `tts.lengths`, on an argument or on the op that computes them, ties to the
    name of the operand's dimension 1. The mask goes
    above pointwise ops that keep zeros (relu), so that one tensor instead of
    two is kept for the gradient.

    Assumes: `tts.input` arguments are zero at padded time steps (the loader
    fills them so), and dimension 1 of a time-carrying tensor has a name.
    Guarantees: the padding of a bucket changes no loss and no gradient.
    Does not: touch values that no time-mixing op reads.
  }];
  let dependentDialects = ["::tts::TtsDialect"];
  let statistics = [Statistic<"inserted", "inserted", "masks inserted">,
                    Statistic<"spared", "spared", "operands already zero">];
}

def Differentiate : Pass<"tts-differentiate", "::mlir::ModuleOp"> {
  let summary = "turns @train into zero, denominators, forward, backward, update, eval";
  let description = [{
    Reverse mode through `DifferentiableOpInterface`, on symbolic shapes. The
    function with `tts.program = "train"` is replaced by the six programs of one
    optimizer update; one with `tts.program = "infer"` only loses the arguments
    that it does not read. What backward needs of forward crosses as explicit values
    (`tts.stash`); gradients accumulate in place over micro-batches.

    Assumes: every loss has a denominator of the same name; masks are in.
    Guarantees: every trainable parameter has a gradient and an update, frozen
    ones have none; programs take no argument that they do not read (`zero`
    takes the accumulators that it fills).
    Does not: choose micro-batches, shapes, precision or what to compute again.
    Reads `tts.optimizer` ("adamw" or "sgd"), `tts.grad_clip`, `tts.ema_decay`.
  }];
  let dependentDialects = ["::tts::TtsDialect", "::mlir::func::FuncDialect"];
}

#endif // TTS_TRANSFORMS_DIFFERENTIATE_PASSES_TD
