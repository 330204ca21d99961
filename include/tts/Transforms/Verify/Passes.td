//===- Passes.td - the contract of each level of IR -----------------------===//

#ifndef TTS_TRANSFORMS_VERIFY_PASSES_TD
#define TTS_TRANSFORMS_VERIFY_PASSES_TD

include "mlir/Pass/PassBase.td"

def VerifyContract : Pass<"tts-verify-contract", "::mlir::ModuleOp"> {
  let summary = "checks what a phase promises about the module it leaves";
  let description = [{
    Levels are named after the phase that has just run; "source" is the user's
    module. What each promises stands in one table (`Contract.cpp`).

    Assumes: the module passes MLIR's own verifier.
    Guarantees: one error per broken promise; nothing is changed.
  }];
  let options = [Option<"level", "level", "std::string", /*default=*/"\"source\"",
                        "name of a level; an unknown one lists them all">];
}

#endif // TTS_TRANSFORMS_VERIFY_PASSES_TD
