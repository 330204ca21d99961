//===- Select.cpp - each op becomes a library call or a kernel -----------===//

#include "Kernels.h"
#include "Patterns.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "tts/Conversion/TtsToRt/Passes.h"
#include "tts/Dialect/Tts/IR/Names.h"

using namespace mlir;
using namespace tts;

namespace tts {
#define GEN_PASS_DEF_TTSSELECT
#include "tts/Conversion/TtsToRt/Passes.h.inc"
} // namespace tts

namespace {
struct Select : tts::impl::TtsSelectBase<Select> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    KernelTable kernels(module);
    SmallVector<func::FuncOp> programs;
    for (auto function : module.getOps<func::FuncOp>())
      if (function->hasAttr(kProgramAttr))
        programs.push_back(function);
    RewritePatternSet patterns(&getContext());
    populateLinearPatterns(patterns);
    populateConvolutionPatterns(patterns);
    populateGroupedConvolutionPatterns(patterns);
    populateAttentionPatterns(patterns);
    populateCrossEntropyPatterns(patterns);
    populateRotaryPatterns(patterns);
    populateCollectivePatterns(patterns);
    FrozenRewritePatternSet contractions(std::move(patterns));
    for (func::FuncOp program : programs) {
      if (failed(checkStatic(program)))
        return signalPassFailure();
      separateResults(program);
      lowerEpilogues(program);
      walkAndApplyPatterns(program, contractions);
      outlineKernels(program, kernels);
      lowerAliases(program);
    }
    numKernels = kernels.getNumKernels();
    numLaunches = kernels.getNumLaunches();
  }

  LogicalResult checkStatic(func::FuncOp program) {
    for (Type type : program.getArgumentTypes())
      if (!cast<RankedTensorType>(type).hasStaticShape())
        return program.emitError("select needs static shapes; run "
                                 "tts-specialize first");
    return success();
  }

  /// A value returned twice would need two storages: its op runs once for each
  /// (these are counts of lengths, shared by losses). Before contractions are
  /// calls, which write into a storage of their own.
  void separateResults(func::FuncOp program) {
    Operation *terminator = program.getBody().front().getTerminator();
    llvm::SmallPtrSet<Value, 8> seen;
    for (OpOperand &operand : terminator->getOpOperands()) {
      Operation *producer = operand.get().getDefiningOp();
      if (seen.insert(operand.get()).second || !producer)
        continue;
      OpBuilder builder(producer);
      builder.setInsertionPointAfter(producer);
      unsigned index = cast<OpResult>(operand.get()).getResultNumber();
      operand.set(builder.clone(*producer)->getResult(index));
    }
  }

  void outlineKernels(func::FuncOp program, KernelTable &kernels) {
    Block &body = program.getBody().front();
    for (const FusionGroup &group :
         computeFusionGroups(body, !getOperation()->hasAttr(kUnfusedAttr)))
      kernels.outline(group);
    // What the kernels hold now has no reader left here.
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
      if (isa_and_nonnull<TtsDialect>(op.getDialect()) &&
          !op.hasTrait<Alias>() && op.use_empty())
        op.erase();
    // A launch stands where its last op did; readers of its other results may
    // come before.
    mlir::sortTopologically(&body);
  }

  void lowerAliases(func::FuncOp program) {
    for (Operation &op :
         llvm::make_early_inc_range(program.getBody().front())) {
      if (!op.hasTrait<Alias>())
        continue;
      OpBuilder builder(&op);
      Value after = isa<RecomputeAfterOp>(op) ? op.getOperand(1) : Value();
      op.replaceAllUsesWith(ValueRange{
          rt::AliasOp::create(builder, op.getLoc(), op.getResult(0).getType(),
                              op.getOperand(0), after)});
      op.erase();
    }
  }
};
} // namespace
