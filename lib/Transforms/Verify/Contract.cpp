//===- Contract.cpp - tts-verify-contract: level by level ----------------===//
// The table of what each phase promises about the module that it leaves.

#include "Checks.h"
#include "tts/Transforms/Verify/Passes.h"
#include "llvm/ADT/StringExtras.h"

namespace tts {
#define GEN_PASS_DEF_VERIFYCONTRACT
#include "tts/Transforms/Verify/Passes.h.inc"
} // namespace tts

using namespace mlir;
using namespace tts;

namespace {
struct Level {
  StringLiteral name;
  std::vector<Check> checks;
};
} // namespace

static ArrayRef<Level> getLevels() {
  static const Level levels[] = {
      {"source",
       {checkTrainOnly, checkOnlyTtsOps, checkStableNames, checkNamedSizes,
        checkUniqueRoles, checkParametersAgree, checkDenominators, checkInfer}},
      {"differentiate",
       {checkPrograms, checkOnlyTtsOps, checkStableNames, checkNamedSizes,
        checkUniqueRoles, checkParametersAgree, checkDenominators,
        checkArgumentsUsed, checkStash, checkDistinctResults, checkGradients,
        checkInfer}},
      {"specialize", {checkOnlyTtsOps, checkStableNames, checkStaticShapes}},
      {"precision", {checkOnlyTtsOps, checkStaticShapes, checkElementTypes}},
      {"rematerialize",
       {checkOnlyTtsOps, checkStaticShapes, checkElementTypes, checkStash}},
      {"partition",
       {checkOnlyTtsOps, checkStaticShapes, checkElementTypes, checkStash,
        checkReducedOnce}},
      {"select", {checkStaticShapes, checkOnlyRtOps, checkDistinctResults}},
      {"memory", {checkEntries}},
      {"lower", {checkSymbols}},
  };
  return levels;
}

namespace {
struct VerifyContract : tts::impl::VerifyContractBase<VerifyContract> {
  using VerifyContractBase::VerifyContractBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    const Level *found = llvm::find_if(
        getLevels(), [&](const Level &l) { return l.name == level; });
    if (found == getLevels().end()) {
      std::string names = llvm::join(
          llvm::map_range(getLevels(), [](const Level &l) { return l.name; }),
          ", ");
      emitError(module.getLoc())
          << "no contract level '" << level << "'; it is one of " << names;
      return signalPassFailure();
    }
    bool kept = true;
    for (Check check : found->checks)
      kept &= succeeded(check(module));
    if (!kept)
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
