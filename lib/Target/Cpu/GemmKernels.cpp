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

namespace {
rt::GemmAttr getShape(MLIRContext *context, ArrayRef<int64_t> s) {
  return rt::GemmAttr::get(
      context, s[TTS_GEMM_M], s[TTS_GEMM_N], s[TTS_GEMM_K], s[TTS_GEMM_LDA],
      s[TTS_GEMM_LDB], s[TTS_GEMM_LDC], s[TTS_GEMM_TRANSPOSE_A],
      s[TTS_GEMM_TRANSPOSE_B], s[TTS_GEMM_BETA], s[TTS_GEMM_BATCH],
      s[TTS_GEMM_STRIDE_A], s[TTS_GEMM_STRIDE_B], s[TTS_GEMM_STRIDE_C]);
}

struct GemmKernels : tts::cpu::impl::GemmKernelsPassBase<GemmKernels> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    llvm::DenseMap<Attribute, func::FuncOp> kernels[2]; // f32, f64
    Builder builder(&getContext());
    module.walk([&](rt::EntryOp entry) {
      ArrayRef<int64_t> scalars = entry.getScalars();
      if (entry.getFunction() != "rt.gemm")
        return;
      bool isF64 = scalars[TTS_GEMM_DTYPE] == TTS_F64;
      if (!isF64 && scalars[TTS_GEMM_SCRATCH] >= 0)
        return;
      rt::GemmAttr shape = getShape(&getContext(), scalars);
      func::FuncOp &kernel = kernels[isF64][shape];
      if (!kernel) {
        std::string name = (isF64 ? "gemm_f64_" : "gemm_f32_") +
                           std::to_string(kernels[isF64].size());
        Type element =
            isF64 ? Type(builder.getF64Type()) : Type(builder.getF32Type());
        kernel = emitGemmKernel(module, name, shape, element);
      }
      entry.setFunction(kernel.getName());
      entry.setScalars({});
    });
  }
};
} // namespace
