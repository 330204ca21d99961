//===- ApplyFlags.cpp - flags over the module's attributes ---------------===//

#include "BatchSetting.h"
#include "Corpus.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tts/Dialect/Tts/IR/Names.h"
#include "tts/Transforms/Plan/ByteSize.h"
#include "llvm/Support/GlobPattern.h"
#include "llvm/Support/Threading.h"

using namespace mlir;
using namespace tts;

namespace {

using Dims = Corpus::Dims;

/// "text=64,frames=300", in the order written.
llvm::Expected<BucketAttr> parseBucket(MLIRContext *context, StringRef text) {
  SmallVector<StringAttr> names;
  SmallVector<int64_t> sizes;
  SmallVector<StringRef> parts;
  text.split(parts, ',');
  for (StringRef part : parts) {
    auto [name, size] = part.split('=');
    int64_t number;
    if (name.trim().empty() || size.trim().getAsInteger(10, number) ||
        number < 1)
      return badUsage("--bucket", "'" + text + "' is no bucket",
                      "write name=size pairs such as text=64,frames=300");
    names.push_back(StringAttr::get(context, name.trim()));
    sizes.push_back(number);
  }
  return BucketAttr::get(context, names, sizes);
}

BucketAttr toBucket(MLIRContext *context, const Dims &dims) {
  SmallVector<StringAttr> names;
  SmallVector<int64_t> sizes;
  // Text before frames, as people read them.
  for (const auto &[name, size] : llvm::reverse(dims)) {
    names.push_back(StringAttr::get(context, name));
    sizes.push_back(size);
  }
  return BucketAttr::get(context, names, sizes);
}

Dims toDims(BucketAttr bucket) {
  Dims dims;
  for (auto [name, size] : llvm::zip(bucket.getNames(), bucket.getSizes()))
    dims[name.str()] = size;
  return dims;
}

/// Every bucket names the same dimensions and is nowhere shorter than the one
/// before.
llvm::Error checkAscending(ArrayRef<Dims> buckets) {
  for (size_t i = 1; i < buckets.size(); ++i) {
    bool isLonger = false;
    for (const auto &[name, size] : buckets[i]) {
      auto before = buckets[i - 1].find(name);
      if (before == buckets[i - 1].end() ||
          buckets[i].size() != buckets[i - 1].size())
        return badUsage("buckets",
                        "bucket " + Twine(i) +
                            " names other dimensions than "
                            "the one before",
                        "name the same dimensions in each");
      if (size < before->second)
        return badUsage("buckets",
                        "bucket " + Twine(i) + " is shorter in " + name +
                            " than the one before",
                        "give them in ascending order");
      isLonger |= size > before->second;
    }
    if (!isLonger)
      return badUsage("buckets", "bucket " + Twine(i) + " repeats another",
                      "leave it out");
  }
  return llvm::Error::success();
}

llvm::Error applyBuckets(ModuleOp module, const PlanningFlags &flags,
                         PlanRequest &request) {
  MLIRContext *context = module.getContext();
  SmallVector<Attribute> buckets;
  if (auto own = module->getAttrOfType<ArrayAttr>(kBucketsAttr))
    llvm::append_range(buckets, own);
  Corpus corpus;
  if (!flags.bucketsFrom.empty()) {
    auto read = readCorpus(flags.bucketsFrom);
    if (!read)
      return read.takeError();
    corpus = std::move(*read);
    buckets.clear();
    for (const Dims &dims : corpus.suggestedBuckets)
      buckets.push_back(toBucket(context, dims));
    auto made = module->getAttrOfType<StringAttr>(kFeaturesHashAttr);
    if (made && !corpus.featuresHash.empty() &&
        made.getValue() != corpus.featuresHash)
      return badInput(flags.bucketsFrom,
                      "its features (" + corpus.featuresHash.substr(0, 12) +
                          "…) are not the model's (" +
                          made.getValue().take_front(12) + "…)",
                      "prepare the corpus with the model's features or write "
                      "the model for this corpus");
    if (!corpus.featuresHash.empty())
      module->setAttr(kFeaturesHashAttr,
                      StringAttr::get(context, corpus.featuresHash));
    if (!corpus.hash.empty())
      module->setAttr(kCorpusHashAttr, StringAttr::get(context, corpus.hash));
  }
  if (!flags.buckets.empty()) {
    buckets.clear();
    for (const std::string &text : flags.buckets) {
      auto bucket = parseBucket(context, text);
      if (!bucket)
        return bucket.takeError();
      buckets.push_back(*bucket);
    }
  }
  SmallVector<Dims> dims;
  for (Attribute bucket : buckets)
    if (auto known = dyn_cast<BucketAttr>(bucket))
      dims.push_back(toDims(known));
  if (auto error = checkAscending(dims))
    return error;
  module->setAttr(kBucketsAttr, ArrayAttr::get(context, buckets));
  if (flags.bucketsFrom.empty())
    return llvm::Error::success();
  request.framesOfUtterance = corpus.meanFrames();
  int64_t outside;
  request.bucketShares = corpus.shares(dims, outside);
  if (outside)
    return badUsage("--bucket",
                    llvm::formatv("{0} utterances of {1} fit no bucket",
                                  outside, flags.bucketsFrom),
                    "add a longer bucket");
  return llvm::Error::success();
}

llvm::Error freeze(ModuleOp module, const std::string &text) {
  auto pattern = llvm::GlobPattern::create(text);
  if (!pattern)
    return badUsage("--freeze", llvm::toString(pattern.takeError()),
                    "give a pattern such as encoder.*");
  bool hasMatch = false;
  for (auto function : module.getOps<func::FuncOp>())
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      auto name = function.getArgAttrOfType<StringAttr>(i, kParamAttr);
      if (!name || !pattern->match(name.getValue()))
        continue;
      hasMatch = true;
      // Running statistics follow the batch, as in PyTorch.
      if (!function.getArgAttr(i, kStateAttr))
        function.setArgAttr(i, kFrozenAttr, UnitAttr::get(module.getContext()));
    }
  if (!hasMatch)
    return badUsage("--freeze", "no parameter is named like '" + text + "'",
                    "see tts.param in the model");
  return llvm::Error::success();
}

/// The flag, or the module's string of that name, or `otherwise`.
std::string stringOf(ModuleOp module, const llvm::cl::opt<std::string> &flag,
                     StringRef attribute, StringRef otherwise) {
  if (flag.getNumOccurrences())
    return flag;
  auto own = module->getAttrOfType<StringAttr>(attribute);
  return own ? own.str() : otherwise.str();
}

} // namespace

llvm::Error tts::applyFlags(ModuleOp module, const PlanningFlags &flags,
                            PlanRequest &request,
                            std::vector<std::string> &changes) {
  Builder b(module.getContext());
  ModuleSettings settings(module, changes);
  if (flags.optimizer.getNumOccurrences())
    settings.set(kOptimizerAttr, b.getStringAttr(flags.optimizer));
  if (flags.gradClip.getNumOccurrences())
    settings.set(kGradClipAttr, flags.gradClip > 0
                                    ? b.getF64FloatAttr(flags.gradClip)
                                    : FloatAttr());
  if (flags.ema.getNumOccurrences())
    settings.set(kEmaDecayAttr, b.getF64FloatAttr(flags.ema));
  if (flags.fusion == "off")
    module->setAttr(kUnfusedAttr, b.getUnitAttr());
  for (const std::string &pattern : flags.freeze) {
    if (auto error = freeze(module, pattern))
      return error;
    changes.push_back("parameters " + pattern + " are frozen");
  }
  if (auto error = applyBuckets(module, flags, request))
    return error;
  auto buckets = module->getAttrOfType<ArrayAttr>(kBucketsAttr);
  if (buckets.empty())
    return badUsage("--bucket", "the model has no tts.buckets",
                    "give --bucket=text=64,frames=300 or --buckets-from=DIR");
  return llvm::Error::success();
}

/// What ranks of different budgets, and so of different plans, cannot do.
static llvm::Error checkMixed(PlanRequest &request) {
  if (request.stages.value_or(1) > 1)
    return badUsage("--memory-budget",
                    "stages of a pipeline (--pipeline) have one budget",
                    "give one size, or leave out --pipeline");
  request.stages = 1;
  if (request.shardStates == "gradients" || request.shardStates == "parameters")
    return badUsage("--shard-states",
                    "'" + request.shardStates +
                        "' exchanges within each micro-batch, in an order that "
                        "ranks of different --memory-budget do not share",
                    "use --shard-states=optimizer or none, or give one budget");
  if (request.deterministic)
    return badUsage("--deterministic",
                    "ranks of different --memory-budget cut their shares into "
                    "different micro-batches",
                    "leave it out, or give one budget");
  return llvm::Error::success();
}

/// One size, or one per rank.
static llvm::Error readBudget(StringRef text, PlanRequest &request) {
  SmallVector<StringRef> sizes;
  text.split(sizes, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef size : sizes) {
    std::optional<int64_t> bytes = plan::parseByteSize(size);
    if (!bytes)
      return badUsage("--memory-budget", "'" + text + "' is no size",
                      "write bytes such as 80G, 1500MiB or 2GB");
    request.budget = std::min(*bytes, request.budget.value_or(*bytes));
    request.budgets.push_back(*bytes);
  }
  if (sizes.size() > 1 && int64_t(sizes.size()) != request.ranks)
    return badUsage("--memory-budget",
                    "'" + text + "' is for " + Twine(sizes.size()) +
                        " ranks, not " + Twine(request.ranks),
                    "give one size, or one per rank");
  if (!llvm::all_equal(request.budgets))
    return checkMixed(request);
  request.budgets.clear();
  return llvm::Error::success();
}

llvm::Error tts::readRequest(ModuleOp module, const PlanningFlags &flags,
                             PlanRequest &request) {
  auto hardware = plan::findHardware(
      stringOf(module, flags.hardware, kHardwareAttr, "host"));
  if (!hardware)
    return badUsage("--hardware", llvm::toString(hardware.takeError()),
                    "give a known name or a description in JSON");
  request.hardware = *hardware;

  std::string budget =
      stringOf(module, flags.memoryBudget, "tts.memory_budget", "");
  request.ranks = flags.ranks;
  request.deterministic = flags.deterministic;
  request.shardStates = flags.shardStates;
  if (int64_t stages = 1; flags.pipeline != "auto") {
    StringRef(flags.pipeline).getAsInteger(10, stages);
    request.stages = stages;
  }
  if (request.ranks > 1 && !request.hardware.linkOf(request.ranks))
    return badUsage("--ranks",
                    request.hardware.name + " has no link for " +
                        Twine(request.ranks) + " ranks",
                    "add one to its description (docs/planning.md)");
  if (auto error = readBudget(budget, request))
    return error;
  std::string precision =
      stringOf(module, flags.precision, "tts.precision", "auto");
  if (!llvm::is_contained({"auto", "fp64", "fp32", "bf16", "fp16"}, precision))
    return badUsage("--precision", "'" + precision + "' is not supported",
                    "use auto, fp64, fp32, bf16 or fp16");
  request.precision = precision;

  request.remat = flags.remat;
  request.optimizerInBackward = flags.optimizerInBackward;
  request.halfStorage =
      stringOf(module, flags.halfStorage, "tts.half_storage", "none");
  if (std::string fault = request.findStorageFault(); !fault.empty()) {
    auto [what, todo] = StringRef(fault).split("; ");
    return badUsage("--half-storage", what, todo);
  }

  if (flags.microBatch != "auto") {
    int64_t number;
    if (StringRef(flags.microBatch).getAsInteger(10, number) || number < 1)
      return badUsage("--micro-batch",
                      "'" + flags.microBatch + "' is no positive number",
                      "give auto or a number of utterances");
    request.microBatch = number;
  }
  request.threads = flags.threads.getNumOccurrences()
                        ? flags.threads
                        : llvm::hardware_concurrency().compute_thread_count();
  return llvm::Error::success();
}
