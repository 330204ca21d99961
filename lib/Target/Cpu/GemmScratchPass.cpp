//===- GemmScratchPass.cpp - scratch of matrix products in the plan ------===//
//
// Asks the very file that the runtime chooses implementations with, so that the
// bytes planned are the bytes wanted.
//
//===----------------------------------------------------------------------===//

#include "Runtime/Device/Cpu/GemmScratch.h"
#include "mlir/IR/BuiltinOps.h"
#include "tts/Dialect/Rt/IR/RtDialect.h"
#include "tts/Dialect/Tts/IR/Names.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"
#include "tts/Target/Cpu/Passes.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace tts;

namespace tts::cpu {
#define GEN_PASS_DEF_GEMMSCRATCHPASS
#include "tts/Target/Cpu/Passes.h.inc"
} // namespace tts::cpu

namespace {
TtsDType getDType(Value operand) {
  Type element = cast<RankedTensorType>(operand.getType()).getElementType();
  return element.isBF16() ? TTS_BF16 : element.isF16() ? TTS_F16 : TTS_F32;
}

rt::GemmShape getShape(rt::GemmOp gemm) {
  rt::GemmAttr s = gemm.getShape();
  rt::GemmShape shape;
  shape.dtype = getDType(gemm.getA());
  shape.dtypeC = getDType(gemm.getC());
  shape.bias = bool(gemm.getBias());
  shape.m = s.getM();
  shape.n = s.getN();
  shape.k = s.getK();
  shape.lda = s.getLda();
  shape.ldb = s.getLdb();
  shape.ldc = s.getLdc();
  shape.transposeA = s.getTransposeA();
  shape.transposeB = s.getTransposeB();
  shape.accumulate = s.getBeta() != 0;
  shape.batch = s.getBatch();
  shape.strideA = s.getStrideA();
  shape.strideB = s.getStrideB();
  shape.strideC = s.getStrideC();
  return shape;
}

struct GemmScratch : tts::cpu::impl::GemmScratchPassBase<GemmScratch> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto plan = module->getAttrOfType<PlanAttr>(kPlanAttr);
    int threads = plan ? plan.getThreads() : 1;
    llvm::DenseMap<std::tuple<Attribute, int, int, int>, int64_t> known;
    Builder builder(&getContext());
    module.walk([&](rt::GemmOp gemm) {
      auto type = cast<RankedTensorType>(gemm.getC().getType());
      if (type.getElementType().isF64())
        return; // generated, needs none
      rt::GemmShape shape = getShape(gemm);
      auto [it, inserted] = known.try_emplace(
          {gemm.getShape(), shape.dtype, shape.dtypeC, int(shape.bias)}, 0);
      if (inserted)
        it->second = rt::gemmScratchBytes(shape, threads);
      gemm->setAttr(rt::kScratchAttr, builder.getI64IntegerAttr(it->second));
    });
  }
};
} // namespace
