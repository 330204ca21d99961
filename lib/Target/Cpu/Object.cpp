//===- Object.cpp - LLVM dialect to an object file ------------------------===//

#include "tts/Target/Cpu/Object.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/SubtargetFeature.h"

using namespace mlir;

namespace tts::cpu {

void registerTranslations(DialectRegistry &registry) {
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
}

static llvm::CodeGenOptLevel codeGenLevel(unsigned level) {
  return llvm::CodeGenOpt::getLevel(std::min(level, 3u))
      .value_or(llvm::CodeGenOptLevel::Aggressive);
}

/// The machine to compile for, or null with `error` set.
static std::unique_ptr<llvm::TargetMachine>
makeMachine(const ObjectOptions &options, std::string &error) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::Triple triple(llvm::sys::getProcessTriple());
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return nullptr;
  std::string cpu = options.march;
  llvm::SubtargetFeatures features;
  if (cpu == "native") {
    cpu = llvm::sys::getHostCPUName().str();
    for (const auto &feature : llvm::sys::getHostCPUFeatures())
      features.AddFeature(feature.first(), feature.second);
  }
  llvm::TargetOptions targetOptions;
  targetOptions.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, cpu, features.getString(), targetOptions, llvm::Reloc::PIC_,
      std::nullopt, codeGenLevel(options.optLevel)));
}

static void setFunctionAttributes(llvm::Module &module,
                                  const llvm::TargetMachine &machine) {
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", machine.getTargetCPU());
    function.addFnAttr("target-features", machine.getTargetFeatureString());
    // Half of the vectors' width would be used on AVX-512 machines otherwise.
    function.addFnAttr("prefer-vector-width", "512");
    function.setDoesNotThrow();
  }
}

static void optimize(llvm::Module &module, llvm::TargetMachine &machine,
                     unsigned level) {
  llvm::PipelineTuningOptions tuning;
  // Kernels come vectorized, in an order that is part of their meaning.
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  // 32 lanes are two to four registers an operand: enough work an iteration.
  tuning.LoopUnrolling = false;
  llvm::PassBuilder builder(&machine, tuning);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  static const llvm::OptimizationLevel levels[] = {
      llvm::OptimizationLevel::O0, llvm::OptimizationLevel::O1,
      llvm::OptimizationLevel::O2, llvm::OptimizationLevel::O3};
  llvm::OptimizationLevel chosen = levels[std::min(level, 3u)];
  llvm::ModulePassManager passes =
      level == 0 ? builder.buildO0DefaultPipeline(chosen)
                 : builder.buildPerModuleDefaultPipeline(chosen);
  passes.run(module, modules);
}

LogicalResult emitObject(ModuleOp module, llvm::raw_pwrite_stream &out,
                         const ObjectOptions &options) {
  std::string error;
  std::unique_ptr<llvm::TargetMachine> machine = makeMachine(options, error);
  if (!machine)
    return module.emitError("cannot compile for CPU '")
           << options.march << "': " << error << "; give another march";
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> translated =
      translateModuleToLLVMIR(module, context);
  if (!translated)
    return module.emitError("cannot be translated to LLVM IR; "
                            "lower every op to the llvm dialect first");
  translated->setTargetTriple(machine->getTargetTriple());
  translated->setDataLayout(machine->createDataLayout());
  translated->setPICLevel(llvm::PICLevel::BigPIC);
  setFunctionAttributes(*translated, *machine);
  optimize(*translated, *machine, options.optLevel);

  llvm::legacy::PassManager codegen;
  if (machine->addPassesToEmitFile(codegen, out, nullptr,
                                   llvm::CodeGenFileType::ObjectFile))
    return module.emitError("LLVM cannot write object files for '")
           << options.march << "'; give another march";
  codegen.run(*translated);
  return success();
}

LogicalResult emitObject(ModuleOp module, llvm::StringRef path,
                         const ObjectOptions &options) {
  std::error_code error;
  llvm::raw_fd_ostream out(path, error, llvm::sys::fs::OF_None);
  if (error)
    return module.emitError("cannot write '")
           << path << "': " << error.message() << "; give a writable path";
  return emitObject(module, out, options);
}

} // namespace tts::cpu
