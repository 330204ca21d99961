//===- Precision.cpp - element types as planned --------------------------===//

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
    StringRef precision = plan.getPrecision();
    if (precision == "fp32")
      return;
    if (precision != "fp64") {
      module.emitError() << "unknown precision '" << precision
                         << "' in tts.plan; fp32 and fp64 exist";
      return signalPassFailure();
    }
    for (auto program : module.getOps<func::FuncOp>())
      if (program->hasAttr(kProgramAttr))
        widen(program);
  }
};
} // namespace
