//===- Precision.cpp - element types as planned --------------------------===//

#include "MixedPrecision.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tts/Dialect/Tts/IR/Names.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"
#include "tts/Transforms/Precision/Passes.h"

using namespace mlir;
using namespace tts;

namespace tts {
#define GEN_PASS_DEF_TTSPRECISION
#include "tts/Transforms/Precision/Passes.h.inc"
} // namespace tts

namespace {
Type widen(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.getElementType().isF32())
    return type;
  return tensor.clone(Float64Type::get(type.getContext()));
}

void widen(func::FuncOp program) {
  for (Value argument : program.getArguments())
    argument.setType(widen(argument.getType()));
  program.walk([](Operation *op) {
    for (Value result : op->getResults())
      result.setType(widen(result.getType()));
  });
  Block &body = program.getBody().front();
  program.setType(FunctionType::get(program.getContext(),
                                    body.getArgumentTypes(),
                                    body.getTerminator()->getOperandTypes()));
}

struct Precision : tts::impl::TtsPrecisionBase<Precision> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto plan = module->getAttrOfType<PlanAttr>(kPlanAttr);
    if (!plan) {
      module.emitError("precision needs tts.plan; run tts-plan first");
      return signalPassFailure();
    }
    StringRef planned = plan.getPrecision();
    if (planned == "fp32")
      return;
    if (FloatType half = precision::getHalfType(&getContext(), planned)) {
      precision::narrowPrograms(module, half);
      precision::addHalfCopies(module, half);
      if (half.isF16())
        precision::addLossScale(module);
      return;
    }
    if (planned != "fp64") {
      module.emitError() << "unknown precision '" << planned
                         << "' in tts.plan; fp32, fp64, bf16 and fp16 exist";
      return signalPassFailure();
    }
    for (auto program : module.getOps<func::FuncOp>())
      if (program->hasAttr(kProgramAttr))
        widen(program);
  }
};
} // namespace
