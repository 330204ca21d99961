//===- Epilogues.cpp - products that do the sums behind them --------------===//
//
// Where the target chose it (tts-cpu-choose-epilogues), the bias and the
// residual become operands of the product's call, which stands where the last
// sum stood. It adds onto the residual's own bytes.
//
//===----------------------------------------------------------------------===//

#include "tts/Analysis/Epilogues.h"
#include "Patterns.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace tts;

/// Of several taps as products, those after the first would add behind the
/// bias.
static bool isOneCall(Operation *product) {
  auto conv = dyn_cast<Conv1dOp>(product);
  return !conv || conv->hasAttr(rt::kScratchAttr) ||
         cast<RankedTensorType>(conv.getW().getType()).getDimSize(0) == 1;
}

static Value emitCall(OpBuilder &builder, const Epilogue &epilogue) {
  if (auto linear = dyn_cast<LinearOp>(epilogue.product))
    return emitLinear(builder, linear, epilogue.residual, epilogue.bias);
  return emitConv1d(builder, cast<Conv1dOp>(epilogue.product),
                    epilogue.residual, epilogue.bias);
}

void tts::lowerEpilogues(func::FuncOp program) {
  SmallVector<Operation *> roots;
  for (Operation &op : program.getBody().front())
    if (op.hasAttr(kEpilogueAttr))
      roots.push_back(&op);
  for (Operation *root : roots) {
    std::optional<Epilogue> epilogue = matchEpilogue(root);
    if (!epilogue || !isOneCall(epilogue->product))
      continue; // changed since the choice: a kernel does it
    OpBuilder builder(root);
    root->replaceAllUsesWith(ValueRange{emitCall(builder, *epilogue)});
    for (Operation *op : llvm::reverse(epilogue->ops))
      if (op->use_empty())
        op->erase();
    epilogue->product->erase();
  }
}
