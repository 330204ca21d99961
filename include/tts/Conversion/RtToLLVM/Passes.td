//===- Passes.td - programs to the constant step table --------------------===//

#ifndef TTS_CONVERSION_RTTOLLVM_PASSES_TD
#define TTS_CONVERSION_RTTOLLVM_PASSES_TD

include "mlir/Pass/PassBase.td"

def RtToLLVMPass : Pass<"tts-rt-to-llvm", "::mlir::ModuleOp"> {
  let summary = "writes programs, buffers and manifest into the constant step table";
  let description = [{
    Assumes: Memory's `rt.program`s and module attributes; every kernel that an
    entry names is a function of the module, with `rt.range` where TtsToKernels
    has set it.

    Guarantees: the globals of Abi.h, `tts_table` (in the section `.tts.table`,
    laid out by Format.h), `tts_kernels` and `tts_abi_version`; no rt op and no
    `rt.` or `tts.` attribute of the module is left. An entry's parallel range
    is its kernel's.

    Does not: touch kernels. An entry that names neither a kernel nor a library
    function of the runtime is an error.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // TTS_CONVERSION_RTTOLLVM_PASSES_TD
