//===- GemmKernels.cpp - matrix products that no library serves ----------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tts-runtime/Format.h"
#include "tts/Conversion/TtsToKernels/Gemm.h"
#include "tts/Dialect/Rt/IR/RtDialect.h"
#include "tts/Target/Cpu/Passes.h"

using namespace mlir;
using namespace tts;

namespace tts::cpu {
#define GEN_PASS_DEF_GEMMKERNELSPASS
#include "tts/Target/Cpu/Passes.h.inc"
} // namespace tts::cpu

bool tts::cpu::isGeneratedGemm(rt::EntryOp entry) {
  ArrayRef<int64_t> scalars = entry.getScalars();
  return scalars[TTS_GEMM_DTYPE] == TTS_F64 || scalars[TTS_GEMM_SCRATCH] < 0;
}

namespace {
rt::GemmAttr getShape(MLIRContext *context, ArrayRef<int64_t> s) {
  return rt::GemmAttr::get(
      context, s[TTS_GEMM_M], s[TTS_GEMM_N], s[TTS_GEMM_K], s[TTS_GEMM_LDA],
      s[TTS_GEMM_LDB], s[TTS_GEMM_LDC], s[TTS_GEMM_TRANSPOSE_A],
      s[TTS_GEMM_TRANSPOSE_B], s[TTS_GEMM_BETA], s[TTS_GEMM_BATCH],
      s[TTS_GEMM_STRIDE_A], s[TTS_GEMM_STRIDE_B], s[TTS_GEMM_STRIDE_C]);
}

struct GemmKernels : tts::cpu::impl::GemmKernelsPassBase<GemmKernels> {
  Type getFloat(int64_t dtype) {
    Builder builder(&getContext());
    return dtype == TTS_F64    ? Type(builder.getF64Type())
           : dtype == TTS_BF16 ? Type(builder.getBF16Type())
           : dtype == TTS_F16  ? Type(builder.getF16Type())
                               : Type(builder.getF32Type());
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    llvm::DenseMap<std::tuple<Attribute, int64_t, int64_t>, func::FuncOp>
        kernels;
    module.walk([&](rt::EntryOp entry) {
      ArrayRef<int64_t> scalars = entry.getScalars();
      if (entry.getFunction() != "rt.gemm" || !tts::cpu::isGeneratedGemm(entry))
        return;
      int64_t dtype = scalars[TTS_GEMM_DTYPE];
      int64_t dtypeC = scalars[TTS_GEMM_DTYPE_C];
      if (scalars[TTS_GEMM_BIAS]) {
        entry.emitError("a product that no library does adds no bias; "
                        "tts-cpu-choose-epilogues asks the library first");
        return signalPassFailure();
      }
      rt::GemmAttr shape = getShape(&getContext(), scalars);
      func::FuncOp &kernel = kernels[{shape, dtype, dtypeC}];
      if (!kernel) {
        Type element = getFloat(dtype), elementC = getFloat(dtypeC);
        std::string name;
        llvm::raw_string_ostream(name)
            << "gemm_" << element << "_" << kernels.size();
        kernel = emitGemmKernel(module, name, shape, element, elementC);
      }
      entry.setFunction(kernel.getName());
      entry.setScalars({});
    });
  }
};
} // namespace
