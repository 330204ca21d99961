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
rt::GemmShape getShape(rt::GemmAttr s) {
  rt::GemmShape shape;
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
    llvm::DenseMap<Attribute, int64_t> known;
    Builder builder(&getContext());
    module.walk([&](rt::GemmOp gemm) {
      auto type = cast<RankedTensorType>(gemm.getC().getType());
      if (!type.getElementType().isF32())
        return; // generated, needs none
      auto [it, inserted] = known.try_emplace(gemm.getShape(), 0);
      if (inserted)
        it->second = rt::gemmScratchBytes(getShape(gemm.getShape()), threads);
      gemm->setAttr(rt::kScratchAttr, builder.getI64IntegerAttr(it->second));
    });
  }
};
} // namespace
