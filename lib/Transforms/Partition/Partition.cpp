//===- Partition.cpp - gradients of all ranks become one -----------------===//

#include "Folds.h"
#include "tts/Dialect/Tts/IR/Names.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"
#include "tts/Transforms/Partition/Passes.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace tts;

namespace tts {
#define GEN_PASS_DEF_TTSPARTITION
#include "tts/Transforms/Partition/Passes.h.inc"
} // namespace tts

/// The gradients that the program reads, by element type.
static llvm::MapVector<Type, SmallVector<Value>>
findGradients(func::FuncOp update) {
  llvm::MapVector<Type, SmallVector<Value>> gradients;
  for (BlockArgument argument : update.getArguments())
    if (!argument.use_empty() &&
        update.getArgAttr(argument.getArgNumber(), kGradientAttr))
      gradients[getElementTypeOrSelf(argument.getType())].push_back(argument);
  return gradients;
}

static void reduceGradients(func::FuncOp update) {
  OpBuilder builder = OpBuilder::atBlockBegin(&update.getBody().front());
  auto name = NameLoc::get(builder.getStringAttr("gradients.all_reduce"));
  for (auto &[type, gradients] : findGradients(update)) {
    auto sums = AllReduceOp::create(builder, name, TypeRange(gradients),
                                    ValueRange(gradients));
    for (auto [gradient, sum] : llvm::zip(gradients, sums.getSums()))
      gradient.replaceAllUsesExcept(sum, sums);
  }
}

namespace {
struct Partition : tts::impl::TtsPartitionBase<Partition> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto attribute = module->getAttrOfType<IntegerAttr>(kRanksAttr);
    int64_t ranks = attribute ? attribute.getInt() : 1;
    if (module->hasAttr(kDeterministicAttr) && failed(addFolds(module, ranks)))
      return signalPassFailure();
    if (ranks == 1)
      return;
    for (auto program : module.getOps<func::FuncOp>()) {
      auto kind = program->getAttrOfType<StringAttr>(kProgramAttr);
      if (kind && kind.getValue() == "update")
        reduceGradients(program);
    }
  }
};
} // namespace
