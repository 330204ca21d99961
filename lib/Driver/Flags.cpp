//===- Flags.cpp - the planning flags: names, parsing, refusals ----------===//

#include "Flags.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include <sys/mman.h>
#include <unistd.h>

using namespace llvm;
using namespace tts;

static constexpr StringLiteral kNames[] = {"memory-budget",
                                           "target",
                                           "gpu-arch",
                                           "hardware",
                                           "threads",
                                           "ranks",
                                           "pipeline",
                                           "shard-states",
                                           "batch",
                                           "batch-frames",
                                           "allow-batch-change",
                                           "lr-scale",
                                           "lr-base-batch",
                                           "micro-batch",
                                           "precision",
                                           "remat",
                                           "bucket",
                                           "buckets-from",
                                           "optimizer",
                                           "grad-clip",
                                           "ema",
                                           "freeze",
                                           "deterministic",
                                           "explain",
                                           "plan-json",
                                           "plan-table",
                                           "stop-after",
                                           "fusion",
                                           "half-storage",
                                           "optimizer-in-backward"};

void tts::freeOptionNames() {
  static std::vector<std::string> renamed;
  renamed.reserve(std::size(kNames));
  for (StringRef name : kNames) {
    auto &registered = cl::getRegisteredOptions();
    auto it = registered.find(name);
    if (it == registered.end())
      continue;
    cl::Option *option = it->second;
    renamed.push_back(("llvm-" + name).str());
    option->setArgStr(renamed.back());
  }
}

namespace {
/// Keeps what is written to stderr while it lives: LLVM prints some of its
/// complaints there whatever stream it is given.
class CapturedStderr {
public:
  CapturedStderr() : saved(dup(2)), file(memfd_create("stderr", 0)) {
    dup2(file, 2);
  }
  ~CapturedStderr() { close(file); }

  /// Ends the capture; the text.
  std::string take() {
    dup2(saved, 2);
    close(saved);
    std::string text(lseek(file, 0, SEEK_END), '\0');
    ssize_t length = pread(file, text.data(), text.size(), 0);
    text.resize(std::max<ssize_t>(length, 0));
    return text;
  }

private:
  int saved, file;
};
} // namespace

Error tts::parseCommandLine(int argc, char **argv, StringRef overview) {
  cl::SetVersionPrinter(
      [](raw_ostream &os) { os << "tts 0.1, LLVM " LLVM_VERSION_STRING "\n"; });
  CapturedStderr captured;
  bool isParsed = cl::ParseCommandLineOptions(argc, argv, overview, &errs());
  std::string text = captured.take();
  if (isParsed) {
    errs() << text;
    return Error::success();
  }
  // "tool: Unknown command line argument '--x'.  Try: 'tool --help'"
  StringRef what = StringRef(text).split('\n').first;
  what.consume_front(argv[0]);
  what.consume_front(sys::path::filename(argv[0]));
  what = what.ltrim(": ").split(".  Try").first.rtrim("!.");
  return badUsage("command line", what, "see --help");
}

cl::OptionCategory &PlanningFlags::category() {
  static cl::OptionCategory category("Planning",
                                     "Attributes of the model are defaults");
  return category;
}

static cl::cat inPlanning() { return cl::cat(PlanningFlags::category()); }

PlanningFlags::PlanningFlags()
    : memoryBudget("memory-budget", cl::value_desc("80G"),
                   cl::desc("bytes that the training process may ever need"),
                   inPlanning()),
      target("target", cl::init("cpu"), cl::desc("what to emit: cpu"),
             inPlanning()),
      gpuArch("gpu-arch", cl::desc("architectures of --target=cuda"),
              inPlanning()),
      hardware("hardware", cl::value_desc("name|FILE.json"),
               cl::desc("description of the machine (default host)"),
               inPlanning()),
      threads("threads", cl::desc("CPU threads (default: all cores)"),
              inPlanning()),
      ranks("ranks", cl::init(1),
            cl::desc("processes in all: data replicas x pipeline stages"),
            inPlanning()),
      pipeline("pipeline", cl::init("auto"),
               cl::desc("stages of a pipeline; auto: several only where "
                        "nothing else fits; none: one"),
               inPlanning()),
      shardStates("shard-states", cl::init("auto"),
                  cl::desc("auto, none, optimizer, gradients or "
                           "parameters"),
                  inPlanning()),
      batch("batch", cl::desc("utterances per optimizer update"), inPlanning()),
      batchFrames("batch-frames", cl::desc("frames per optimizer update"),
                  inPlanning()),
      allowBatchChange(
          "allow-batch-change",
          cl::desc("where nothing fits, the batch is halved until a plan does"),
          inPlanning()),
      lrScale("lr-scale", cl::init("none"),
              cl::desc("none; linear or sqrt: how the rate follows the batch"),
              inPlanning()),
      lrBaseBatch("lr-base-batch",
                  cl::desc("batch that the model's rate is for (default: the "
                           "model's own)"),
                  inPlanning()),
      microBatch("micro-batch", cl::init("auto"),
                 cl::desc("auto, or pins the micro-batch"), inPlanning()),
      precision("precision", cl::init("auto"),
                cl::desc("auto, fp64, fp32, bf16 or fp16"), inPlanning()),
      halfStorage("half-storage", cl::init("none"),
                  cl::desc("none; auto, bf16 or fp16: activations of an fp32 "
                           "program may be kept in it until backward"),
                  inPlanning()),
      remat("remat", cl::init("auto"), cl::desc("auto, none or full"),
            inPlanning()),
      fusion("fusion", cl::init("on"),
             cl::desc("on, or off: every op a kernel of its own, same bits"),
             inPlanning()),
      buckets("bucket", cl::value_desc("text=64,frames=300"),
              cl::desc("a length bucket; repeat, ascending"), inPlanning()),
      bucketsFrom("buckets-from", cl::value_desc("DIR"),
                  cl::desc("buckets and their shares from a corpus"),
                  inPlanning()),
      optimizer("optimizer", cl::desc("adamw or sgd"), inPlanning()),
      optimizerInBackward(
          "optimizer-in-backward", cl::init("none"),
          cl::desc("none; auto or on: backward updates each parameter, without "
                   "clipping and guard, see docs/planning.md"),
          inPlanning()),
      gradClip("grad-clip",
               cl::desc("largest global norm of the gradient, 0: any"),
               inPlanning()),
      ema("ema", cl::desc("decay of the averaged weights"), inPlanning()),
      freeze("freeze", cl::value_desc("GLOB"),
             cl::desc("parameters that are not trained; repeatable"),
             inPlanning()),
      deterministic("deterministic", cl::desc("bit-equal on 1, 2 and 4 ranks"),
                    inPlanning()),
      explain("explain", cl::desc("the candidates, and why the winner won"),
              inPlanning()),
      planJson("plan-json", cl::value_desc("FILE"),
               cl::desc("writes the plan without compiling"), inPlanning()),
      planFront("plan-front", cl::value_desc("FILE"),
                cl::desc("keeps what the planner found between runs: another "
                         "budget is looked up there"),
                inPlanning()),
      planTable("plan-table", cl::init("text"), cl::desc("text or none"),
                inPlanning()),
      stopAfter(
          "stop-after", cl::value_desc("PHASE"),
          cl::desc("differentiate, plan, specialize, precision, rematerialize, "
                   "partition, select, memory or lower"),
          inPlanning()) {}

bool PlanningFlags::isPlanning() const {
  const cl::Option *all[] = {&memoryBudget,
                             &target,
                             &gpuArch,
                             &hardware,
                             &threads,
                             &ranks,
                             &pipeline,
                             &shardStates,
                             &batch,
                             &batchFrames,
                             &allowBatchChange,
                             &lrScale,
                             &lrBaseBatch,
                             &microBatch,
                             &precision,
                             &halfStorage,
                             &remat,
                             &fusion,
                             std::addressof(buckets),
                             &bucketsFrom,
                             &optimizer,
                             &optimizerInBackward,
                             &gradClip,
                             &ema,
                             std::addressof(freeze),
                             &deterministic,
                             &explain,
                             &planJson,
                             &planFront,
                             &planTable,
                             &stopAfter};
  return any_of(all, [](const cl::Option *option) {
    return option->getNumOccurrences() > 0;
  });
}

namespace {
/// A string flag that takes some of its contract's values only; what it means
/// to take others.
struct Choice {
  const cl::opt<std::string> &flag;
  std::initializer_list<StringRef> supported;
  StringRef others = "is not supported";
};
} // namespace

Error PlanningFlags::check() const {
  const Choice choices[] = {
      {target, {"cpu"}},
      {shardStates, {"auto", "none", "optimizer", "gradients", "parameters"}},
      {lrScale, {"none", "linear", "sqrt"}},
      {precision, {"auto", "fp64", "fp32", "bf16", "fp16"}},
      {remat, {"auto", "none", "full"}},
      {fusion, {"on", "off"}},
      {optimizerInBackward, {"none", "auto", "on"}},
      {planTable, {"text", "none"}}};
  for (const Choice &choice : choices)
    if (!is_contained(choice.supported, choice.flag.getValue()))
      return badUsage("--" + choice.flag.ArgStr,
                      "'" + choice.flag.getValue() + "' " + choice.others,
                      "use " + join(choice.supported, " or "));
  if (optimizer.getNumOccurrences() && optimizer != "adamw" &&
      optimizer != "sgd")
    return badUsage("--optimizer", "'" + optimizer + "' is not supported",
                    "use adamw or sgd");
  const cl::Option *unbuilt[] = {&gpuArch};
  for (const cl::Option *flag : unbuilt)
    if (flag->getNumOccurrences())
      return badUsage("--" + flag->ArgStr, "is not supported yet",
                      "leave it out");
  if (int64_t stages;
      pipeline != "auto" && pipeline != "none" &&
      (StringRef(pipeline).getAsInteger(10, stages) || stages < 1))
    return badUsage("--pipeline", "'" + pipeline + "' is no number of stages",
                    "use auto, none or a number that divides --ranks");
  const cl::opt<int64_t> *positive[] = {&threads, &ranks, &batch, &batchFrames,
                                        &lrBaseBatch};
  for (const cl::opt<int64_t> *flag : positive)
    if (flag->getNumOccurrences() && *flag < 1)
      return badUsage("--" + flag->ArgStr, "is less than 1",
                      "give a positive number");
  if (batch.getNumOccurrences() && batchFrames.getNumOccurrences())
    return badUsage("--batch-frames", "--batch says it in utterances",
                    "give one of them");
  if (ranks > kMostPlannedRanks)
    return badUsage("--ranks", formatv("{0} ranks are too many", ranks),
                    formatv("use at most {0}", kMostPlannedRanks));
  if (deterministic && ranks > 1 && shardStates != "auto" &&
      shardStates != "none")
    return badUsage("--shard-states",
                    "the norm of sharded gradients is rounded as the ranks "
                    "are, which --deterministic forbids",
                    "leave one of them out");
  if (lrBaseBatch.getNumOccurrences() && lrScale == "none")
    return badUsage("--lr-base-batch", "says nothing without a rule",
                    "add --lr-scale=linear or sqrt");
  if (deterministic && ranks != 1 && ranks != 2 && ranks != 4)
    return badUsage(
        "--deterministic",
        formatv("{0} ranks cannot share its four groups of shards", ranks),
        "give --ranks=1, 2 or 4");
  if (gradClip.getNumOccurrences() && !(gradClip >= 0))
    return badUsage("--grad-clip", "is negative",
                    "give a positive norm, or 0 to clip nothing");
  if (ema.getNumOccurrences() && !(ema > 0 && ema < 1))
    return badUsage("--ema", "is not between 0 and 1",
                    "give a decay such as 0.999, or leave it out");
  if (!stopAfter.empty() && !parsePhase(stopAfter))
    return badUsage("--stop-after", "'" + stopAfter + "' is no phase",
                    "use " + join(getPhaseNames(), ", "));
  return Error::success();
}
