//===- Differentiate.cpp - tts-differentiate -----------------------------===//
// The pass's shell: reads @train, builds the programs, removes @train. The
// module changes only when everything succeeded.

#include "ProgramBuilder.h"
#include "Programs.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "tts/Dialect/Tts/IR/Names.h"
#include "tts/Transforms/Differentiate/Passes.h"
#include "llvm/ADT/StringSet.h"

namespace tts {
#define GEN_PASS_DEF_DIFFERENTIATE
#include "tts/Transforms/Differentiate/Passes.h.inc"
} // namespace tts

using namespace mlir;
using namespace tts;

static constexpr StringLiteral kPrograms[] = {
    "zero", "denominators", "forward", "backward", "update", "eval"};

/// The names of the programs must be free.
static LogicalResult checkNames(ModuleOp module) {
  for (StringRef name : kPrograms)
    if (Operation *taken = module.lookupSymbol(name))
      return emitError(taken->getLoc())
             << "@" << name
             << " is the name of a program that Differentiate makes; rename "
                "this one";
  return success();
}

/// Entries of `stash` that backward still takes after its clean-up.
static SmallVector<StashEntry> filterStash(func::FuncOp backward,
                                           ArrayRef<StashEntry> stash) {
  llvm::StringSet<> taken;
  for (unsigned i = 0, e = backward.getNumArguments(); i < e; ++i)
    if (auto name = backward.getArgAttrOfType<StringAttr>(i, kStashAttr))
      taken.insert(name.getValue());
  return llvm::filter_to_vector(stash, [&](const StashEntry &entry) {
    return taken.contains(entry.name);
  });
}

namespace {
struct Differentiate : tts::impl::DifferentiateBase<Differentiate> {
  using DifferentiateBase::DifferentiateBase;

  /// Folds accumulations into their producers and drops what nobody reads,
  /// before forward is told what to keep.
  LogicalResult clean(func::FuncOp func) {
    OpPassManager pipeline(func::FuncOp::getOperationName());
    pipeline.addPass(createCanonicalizerPass());
    pipeline.addPass(createCSEPass());
    pipeline.addPass(createCanonicalizerPass());
    if (failed(runPipeline(pipeline, func)))
      return failure();
    dropUnused(func);
    return success();
  }

  LogicalResult differentiate(ModuleOp module) {
    FailureOr<TrainFunction> train = TrainFunction::read(module);
    if (failed(train) || failed(checkNames(module)))
      return failure();
    // Evaluation knows ops that keep states as they were written.
    func::FuncOp eval = buildEval(*train);
    if (failed(expandStates(*train)))
      return failure();
    FailureOr<Activity> activity = Activity::compute(*train);
    if (failed(activity))
      return failure();

    buildZero(*train);
    FailureOr<func::FuncOp> denominators = buildDenominators(*train);
    if (failed(denominators))
      return failure();
    SmallVector<StashEntry> stash;
    FailureOr<func::FuncOp> backward = buildBackward(*train, *activity, stash);
    if (failed(backward) || failed(clean(*backward)))
      return failure();
    func::FuncOp forward = buildForward(*train, filterStash(*backward, stash));
    forward->moveBefore(*backward);
    FailureOr<func::FuncOp> update = buildUpdate(module, *train);
    if (failed(update))
      return failure();
    dropUnused(*update);
    eval->moveAfter(*update);
    for (auto func : module.getOps<func::FuncOp>())
      if (func->getAttr(kProgramAttr) == Builder(module).getStringAttr("infer"))
        dropUnused(func);
    train->func.erase();
    return success();
  }

  void runOnOperation() override {
    if (failed(differentiate(getOperation())))
      signalPassFailure();
  }
};
} // namespace
