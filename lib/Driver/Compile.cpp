//===- Compile.cpp - tts-compile -----------------------------------------===//

#include "Compilation.h"
#include "Link.h"
#include "OutputFile.h"
#include "PlanReport.h"
#include "tts/Driver/Register.h"
#include "tts/Driver/Tools.h"
#include "tts/Target/Cpu/Object.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace tts;

namespace {
struct CompileFlags {
  llvm::cl::opt<std::string> input{llvm::cl::Positional,
                                   llvm::cl::desc("<model.mlir>"),
                                   llvm::cl::cat(PlanningFlags::category())};
  llvm::cl::opt<std::string> output{
      "o", llvm::cl::desc("executable, or a library where it ends with .so"),
      llvm::cl::value_desc("filename"),
      llvm::cl::cat(PlanningFlags::category())};
  llvm::cl::opt<std::string> runtime{
      "runtime", llvm::cl::desc("libTtsRuntime.a (default: beside the tool)"),
      llvm::cl::value_desc("path"), llvm::cl::cat(PlanningFlags::category())};
  llvm::cl::opt<std::string> march{
      "march", llvm::cl::desc("CPU to compile for, LLVM's name or native"),
      llvm::cl::init("native"), llvm::cl::cat(PlanningFlags::category())};
};

/// "train" and "train.so" have "train.plan.json".
std::string certificatePath(StringRef output) {
  output.consume_back(".so");
  return (output + ".plan.json").str();
}

llvm::Error checkCompile(const PlanningFlags &flags, const CompileFlags &own) {
  if (auto error = flags.check())
    return error;
  if (flags.ranks > kMostRanks)
    return badUsage(
        "--ranks", llvm::formatv("{0} ranks are too many", flags.ranks),
        llvm::formatv(
            "use at most {0}: a corpus has so many shards, and a rank "
            "reads its own; tts-opt plans for more",
            kMostRanks));
  if (own.input.empty())
    return badUsage("command line", "no model file was given",
                    "write tts-compile model.mlir -o train");
  if (!flags.stopAfter.empty())
    return badUsage("--stop-after", "is a flag of tts-opt", "use tts-opt");
  if (own.output.empty() && flags.planJson.empty())
    return badUsage("-o", "no output was given", "add -o train");
  return llvm::Error::success();
}

/// A planned module to machine code, in files beside the output.
llvm::Error emit(Compilation &compilation, const CompileFlags &own, size_t role,
                 std::vector<OutputFile> &files) {
  TimingScope &timing = compilation.getTiming();
  completeManifest(compilation, role);
  // The certificate is read off the programs, so they are lowered on a copy.
  OwningOpRef<ModuleOp> machine =
      compilation.getPlan().roles[role].lowered->clone();
  PipelineOptions lowering;
  lowering.timing = &timing;
  if (failed(runPhases(*machine, Phase::Lower, Phase::Lower, lowering)))
    return compilation.failure("please report this with the model");
  cpu::ObjectOptions options;
  options.march = own.march;
  TimingScope emitting = timing.nest("object");
  options.timing = &emitting;
  auto objects = cpu::emitObjects(std::move(machine), options);
  if (failed(objects))
    return compilation.failure("check --march, or report this");
  for (const cpu::ObjectBytes &object : *objects) {
    auto file = OutputFile::create(own.output + ".o");
    if (!file)
      return file.takeError();
    if (auto error = file->write({object.data(), object.size()}))
      return error;
    files.push_back(std::move(*file));
  }
  return llvm::Error::success();
}

/// The planned modules, in the order of roles, linked into `program`.
llvm::Error build(Compilation &compilation, const CompileFlags &own,
                  StringRef runtime, const OutputFile &program) {
  bool isShared = StringRef(own.output).ends_with(".so");
  size_t roles = compilation.getPlan().roles.size();
  if (isShared && roles > 1)
    return badUsage("-o", "a library is of one table, but ranks differ",
                    "compile an executable, or without --pipeline and with "
                    "one --memory-budget");
  std::vector<OutputFile> files;
  for (size_t role = 0; role < roles; ++role)
    if (auto error = emit(compilation, own, role, files))
      return error;
  TimingScope linking = compilation.getTiming().nest("link");
  std::vector<std::string> paths;
  for (const OutputFile &file : files)
    paths.push_back(file.getPath());
  return link(paths, runtime, program.getPath(),
              {isShared, compilation.getRequest().ranks > 1});
}

llvm::Error run(const char *tool, Compilation &compilation,
                const CompileFlags &own) {
  if (auto error = checkCompile(compilation.getFlags(), own))
    return error;
  std::string runtime;
  if (!own.output.empty()) {
    auto found = findRuntime(tool, own.runtime);
    if (!found)
      return found.takeError();
    runtime = *found;
  }
  if (auto error = compilation.load(own.input))
    return error;
  if (compilation.getRequest().hardware.isGpu)
    return badUsage("--hardware",
                    "'" + compilation.getRequest().hardware.name +
                        "' is a GPU but --target is cpu",
                    "use --hardware=host, or tts-opt to plan only");
  if (auto error = compilation.differentiate())
    return error;
  if (auto error = compilation.plan())
    return error;
  if (own.output.empty())
    return llvm::Error::success();

  auto program = OutputFile::create(own.output);
  if (!program)
    return program.takeError();
  if (auto error = build(compilation, own, runtime, *program))
    return error;
  TimingScope timing = compilation.getTiming().nest("certificate");
  auto bytes = llvm::MemoryBuffer::getFile(program->getPath());
  if (!bytes)
    return badInput(own.output, bytes.getError().message(), "try again");
  std::string certificate =
      planJson(compilation, sha256((*bytes)->getBuffer()));
  if (auto error = writeFile(certificatePath(own.output), certificate))
    return error;
  return program->keep();
}
} // namespace

int tts::runCompile(int argc, char **argv) {
  freeOptionNames();
  static PlanningFlags flags;
  static CompileFlags own;
  registerMLIRContextCLOptions();
  registerDefaultTimingManagerCLOptions();
  llvm::cl::HideUnrelatedOptions(PlanningFlags::category());
  if (auto error = parseCommandLine(
          argc, argv, "Compiles a model file to a training executable\n"))
    return reportFailure(std::move(error));

  DialectRegistry registry;
  tts::registerDialects(registry);
  registry.insert<func::FuncDialect>();
  cpu::registerTranslations(registry);
  MLIRContext context(registry);
  DefaultTimingManager timers;
  applyDefaultTimingManagerCLOptions(timers);
  TimingScope timing = timers.getRootScope();
  Compilation compilation(context, flags, timing);
  compilation.needProgram();
  return reportFailure(run(argv[0], compilation, own));
}
