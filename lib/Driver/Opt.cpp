//===- Opt.cpp - tts-opt -------------------------------------------------===//

#include "Compilation.h"
#include "OutputFile.h"
#include "tts/Dialect/Tts/IR/Names.h"
#include "tts/Driver/Register.h"
#include "tts/Driver/Tools.h"
#include "tts/Target/Cuda/Passes.h"

#include "mlir/Debug/Counter.h"
#include "mlir/IR/AsmState.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Support/Timing.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

using namespace mlir;
using namespace tts;

namespace {
/// mlir-opt's own flags, as registerAndParseCLIOptions would register them.
void registerMlirOptFlags(DialectRegistry &registry) {
  MlirOptMainConfig::registerCLOptions(registry);
  registerAsmPrinterCLOptions();
  registerMLIRContextCLOptions();
  registerPassManagerCLOptions();
  registerDefaultTimingManagerCLOptions();
  tracing::DebugCounter::registerCLOptions();
}

bool isPipeline(Compilation &compilation) {
  return compilation.getModule()->hasAttr(kStageStartsAttr);
}

/// A module with one for each stage of a pipeline.
llvm::Error cutStages(Compilation &compilation, Phase last,
                      OwningOpRef<ModuleOp> &stages) {
  ModuleOp whole = compilation.getModule();
  auto starts = whole->getAttrOfType<ArrayAttr>(kStageStartsAttr);
  stages = ModuleOp::create(whole.getLoc());
  for (int64_t stage = 0; stage <= int64_t(starts.size()); ++stage) {
    ModuleOp part = whole.clone();
    part.setSymName(("stage_" + llvm::Twine(stage)).str());
    stages->push_back(part);
    noteStage(part, compilation.getRequest(), starts, stage);
    if (failed(runPhases(part, Phase::Partition, last)))
      return compilation.failure("please report this with the model");
  }
  return llvm::Error::success();
}

/// A module with one for each of several budgets.
llvm::Error cutRoles(Compilation &compilation, Phase last,
                     OwningOpRef<ModuleOp> &roles) {
  ModuleOp whole = compilation.getModule();
  roles = ModuleOp::create(whole.getLoc());
  for (auto [index, role] : llvm::enumerate(compilation.getPlan().roles)) {
    ModuleOp part = whole.clone();
    part.setSymName(("role_" + llvm::Twine(index)).str());
    roles->push_back(part);
    part->setAttr(kPlanAttr, role.plan);
    if (last > Phase::Plan && failed(runPhases(part, Phase::Specialize, last)))
      return compilation.failure("please report this with the model");
  }
  return llvm::Error::success();
}

/// Differentiate, Plan and what follows, up to --stop-after.
llvm::Error runPlanning(Compilation &compilation, StringRef input,
                        StringRef output) {
  const PlanningFlags &flags = compilation.getFlags();
  if (auto error = flags.check())
    return error;
  Phase last =
      flags.stopAfter.empty() ? Phase::Partition : *parsePhase(flags.stopAfter);
  if (auto error = compilation.load(input))
    return error;
  if (auto error = compilation.differentiate())
    return error;
  if (last >= Phase::Plan)
    if (auto error = compilation.plan())
      return error;
  OwningOpRef<ModuleOp> parts;
  bool isMixed = last >= Phase::Plan && compilation.getPlan().isMixed();
  if (isMixed)
    if (auto error = cutRoles(compilation, last, parts))
      return error;
  if (last > Phase::Plan && !isMixed)
    if (auto error = compilation.run(Phase::Specialize,
                                     isPipeline(compilation)
                                         ? std::min(last, Phase::Rematerialize)
                                         : last))
      return error;
  if (last >= Phase::Partition && isPipeline(compilation))
    if (auto error = cutStages(compilation, last, parts))
      return error;
  std::string text;
  llvm::raw_string_ostream os(text);
  (parts ? *parts : compilation.getModule())->print(os, OpPrintingFlags());
  os << "\n";
  if (output != "-")
    return writeFile(output, text);
  llvm::outs() << text;
  return llvm::Error::success();
}
} // namespace

int tts::runOpt(int argc, char **argv) {
  freeOptionNames();
  static PlanningFlags flags;
  static llvm::cl::opt<std::string> input(llvm::cl::Positional,
                                          llvm::cl::desc("<input file>"),
                                          llvm::cl::init("-"));
  static llvm::cl::opt<std::string> output(
      "o", llvm::cl::desc("Output filename"), llvm::cl::value_desc("filename"),
      llvm::cl::init("-"));

  registerAllPasses();
  tts::registerPasses();
  DialectRegistry registry;
  registerAllDialects(registry);
  registerAllExtensions(registry);
  cuda::registerTranslations(registry);
  tts::registerDialects(registry);
  registerMlirOptFlags(registry);
  if (auto error =
          parseCommandLine(argc, argv, "Compiler of text-to-speech training\n"))
    return reportFailure(std::move(error));
  if (!flags.isPlanning())
    return asMainReturnCode(MlirOptMain(argc, argv, input, output, registry));

  MLIRContext context(registry);
  DefaultTimingManager timers;
  applyDefaultTimingManagerCLOptions(timers);
  TimingScope timing = timers.getRootScope();
  Compilation compilation(context, flags, timing);
  return reportFailure(runPlanning(compilation, input, output));
}
