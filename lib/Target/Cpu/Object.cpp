//===- Object.cpp - LLVM dialect to an object file ------------------------===//

#include "tts/Target/Cpu/Object.h"
#include "SplitModule.h"
#include "mlir/IR/Threading.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
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
  llvm::Triple triple(llvm::sys::getProcessTriple());
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, error);
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

/// What kernels gain from: they come vectorized, unrolled where it pays, their
/// values in registers and their sums in an order that is part of their
/// meaning. A third of the time of -O3, with the speed of its code.
static constexpr llvm::StringLiteral kPasses =
    "always-inline,globaldce,function(early-cse<memssa>,simplifycfg,"
    "instcombine<max-iterations=1>,loop-mssa(loop-rotate,licm),gvn,"
    "simplifycfg,instcombine),globaldce";

static llvm::Error optimize(llvm::Module &module, llvm::TargetMachine &machine,
                            unsigned level) {
  llvm::PassBuilder builder(&machine);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  llvm::ModulePassManager passes;
  if (auto error = builder.parsePassPipeline(
          passes, level == 0 ? llvm::StringRef("always-inline")
                             : llvm::StringRef(kPasses)))
    return error;
  passes.run(module, modules);
  return llvm::Error::success();
}

static TimingScope nestTimer(const ObjectOptions &options, StringRef name) {
  return options.timing ? options.timing->nest(name) : TimingScope();
}

/// One module with its own context and machine, so that several can be compiled
/// at the same time.
static LogicalResult compile(ModuleOp module, llvm::raw_pwrite_stream &out,
                             const ObjectOptions &options) {
  std::string error;
  std::unique_ptr<llvm::TargetMachine> machine = makeMachine(options, error);
  if (!machine)
    return module.emitError("cannot compile for CPU '")
           << options.march << "': " << error << "; give another march";
  TimingScope timing = nestTimer(options, "translate");
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
  timing = nestTimer(options, "optimize");
  if (auto failed = optimize(*translated, *machine, options.optLevel))
    return module.emitError("LLVM's passes: ")
           << llvm::toString(std::move(failed));

  timing = nestTimer(options, "codegen");
  llvm::legacy::PassManager codegen;
  if (machine->addPassesToEmitFile(codegen, out, nullptr,
                                   llvm::CodeGenFileType::ObjectFile))
    return module.emitError("LLVM cannot write object files for '")
           << options.march << "'; give another march";
  codegen.run(*translated);
  return success();
}

static void initializeTarget() {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
}

LogicalResult emitObject(ModuleOp module, llvm::raw_pwrite_stream &out,
                         const ObjectOptions &options) {
  initializeTarget();
  return compile(module, out, options);
}

FailureOr<std::vector<ObjectBytes>> emitObjects(OwningOpRef<ModuleOp> module,
                                                const ObjectOptions &options) {
  initializeTarget();
  MLIRContext *context = module->getContext();
  std::vector<OwningOpRef<ModuleOp>> parts = splitModule(std::move(module));
  std::vector<ObjectBytes> objects(parts.size());
  auto compilePart = [&](size_t i) -> LogicalResult {
    llvm::raw_svector_ostream out(objects[i]);
    return compile(*parts[i], out, options);
  };
  if (failed(failableParallelForEachN(context, 0, parts.size(), compilePart)))
    return failure();
  return objects;
}

} // namespace tts::cpu
