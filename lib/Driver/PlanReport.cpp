//===- PlanReport.cpp - the plan table
//---------------------------------------===//

#include "PlanReport.h"

#include "tts/Dialect/Tts/IR/Names.h"
#include "tts/Transforms/Plan/ByteSize.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tts;

namespace {
std::string bucketText(BucketAttr bucket) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleave(
      llvm::zip(bucket.getNames(), bucket.getSizes()), os,
      [&](auto dim) {
        os << std::get<0>(dim).getValue() << "=" << std::get<1>(dim);
      },
      ",");
  return text;
}

SmallVector<BucketAttr> bucketsOf(ModuleOp module) {
  return llvm::to_vector(
      module->getAttrOfType<ArrayAttr>(kBucketsAttr).getAsRange<BucketAttr>());
}

void printBytes(llvm::raw_ostream &os, StringRef name, int64_t bytes) {
  os << llvm::formatv("  {0,-14} {1,16} bytes {2,9:f3} GiB\n", name, bytes,
                      bytes / 0x1p30);
}

std::string launchText(const PlanResult &plan) {
  auto count = [](int64_t n, StringRef what) {
    return llvm::formatv("{0} {1}{2}", n, what, n == 1 ? "" : "s").str();
  };
  int64_t ranks = plan.exchange.ranks, stages = plan.stages.count;
  return llvm::formatv("{0} ({1} data x {2})", count(ranks, "rank"),
                       ranks / stages, count(stages, "stage"));
}

/// Of a pipeline, what each stage begins with and holds.
void printStages(llvm::raw_ostream &os, const PlanResult &plan) {
  if (plan.stages.count == 1)
    return;
  os << llvm::formatv("  stages wait for each other {0:f1} % of the time\n",
                      100 * plan.stages.bubble);
  for (auto [stage, role] : llvm::enumerate(plan.roles)) {
    StringRef start =
        stage == 0 ? "the inputs"
                   : cast<StringAttr>(plan.stages.starts[stage - 1]).getValue();
    os << llvm::formatv("  stage {0}, ranks {1}-{2}: peak {3} bytes, arena "
                        "{4}, from {5}\n",
                        stage, role.ranks.front(), role.ranks.back(),
                        role.peakBytes(), role.measure.arenaBytes, start);
  }
}

void printExchange(llvm::raw_ostream &os, Compilation &compilation) {
  const Exchange &exchange = compilation.getPlan().exchange;
  std::string sharding = compilation.getPlan().choice().stateSharding;
  std::string link = linkName(compilation);
  auto print = [&](StringRef what, int64_t bytes, double seconds,
                   StringRef per) {
    os << llvm::formatv("  {0} over {1}: {2} bytes a rank, {3:f4} s per {4}",
                        what, link, bytes, seconds, per);
  };
  if (sharding != "none")
    os << "  each rank keeps its shards of the states: " << sharding
       << (compilation.getPlan().choice().prefetch
               ? "; they are exchanged while it computes"
               : "")
       << "\n";
  if (exchange.allReduceBytes)
    print(sharding == "none"        ? "AllReduce of the gradients"
          : sharding == "optimizer" ? "ReduceScatter of the gradients and "
                                      "AllGather of the parameters"
                                    : "AllGather of the parameters",
          exchange.allReduceBytes, exchange.allReduceSeconds, "update");
  if (exchange.allReduceBytes && exchange.microBatchBytes)
    os << "\n";
  if (exchange.microBatchBytes)
    print(compilation.getPlan().stages.count > 1 ? "Sends between stages"
          : sharding == "gradients" ? "ReduceScatter of the gradients"
                                    : "AllGather of the parameters, twice, and "
                                      "ReduceScatter of the gradients",
          exchange.microBatchBytes, exchange.microBatchSeconds, "micro-batch");
  os << llvm::formatv("; buffers of {0} bytes within overhead\n",
                      exchange.bufferBytes);
}
/// Buckets and bytes of those ranks.
void printRole(llvm::raw_ostream &os, Compilation &compilation,
               const PlanRole &role) {
  const PlanResult &plan = compilation.getPlan();
  os << llvm::formatv("  {0,-24} {1,12} {2,8} {3,14}\n", "bucket",
                      "micro-batch", "share", "s/micro-batch");
  for (auto [index, bucket] :
       llvm::enumerate(bucketsOf(compilation.getModule())))
    os << llvm::formatv("  {0,-24} {1,12} {2,6:f1} % {3,14:f4}\n",
                        bucketText(bucket), role.plan.getMicroBatches()[index],
                        100 * plan.shares[index],
                        role.measure.microBatchSeconds(index));
  for (unsigned index = 0; index < plan.shares.size(); ++index)
    if (std::string text = halfStorageText(role.plan, index); !text.empty())
      os << "  " << text << "\n";
  int64_t used = 0;
  for (unsigned klass = 0; klass < plan::kNumClasses; ++klass) {
    int64_t bytes = role.measure.live.classes[klass];
    used += bytes;
    if (bytes)
      printBytes(os, plan::className(klass), bytes);
  }
  printBytes(os, "unused", role.measure.arenaBytes - used);
  printBytes(os, "overhead", role.overheadBytes);
  printBytes(os, "peak", role.peakBytes());
  printBytes(os, "budget", role.budget);
  printStages(os, plan);
  if (plan.isClamped && role.budget == plan.offered)
    os << "  the budget asked for is more than "
       << compilation.getRequest().hardware.name << " offers and was clamped\n";
  os << llvm::formatv(
      "  arena {0} bytes, {1:f2} % over the lower bound of {2} bytes\n",
      role.measure.arenaBytes,
      100.0 * role.measure.arenaBytes /
              std::max<int64_t>(role.measure.live.most, 1) -
          100,
      role.measure.live.most);
}
} // namespace

std::string tts::halfStorageText(PlanAttr plan, unsigned bucket) {
  ArrayRef<Attribute> items = plan.getStore(bucket);
  if (items.empty())
    return "";
  FloatType type = cast<StoreAttr>(items.front()).getType();
  return llvm::formatv("bucket {0}: {1} activations are kept in {2} between "
                       "forward and backward",
                       bucket, items.size(), type.isBF16() ? "bf16" : "fp16");
}

void tts::printPlanTable(llvm::raw_ostream &os, Compilation &compilation) {
  const PlanResult &plan = compilation.getPlan();
  const PlanRequest &request = compilation.getRequest();
  os << "plan of " << compilation.getPath() << " on " << request.hardware.name
     << ", " << request.threads << " threads, " << launchText(plan) << ", "
     << plan.plan.getPrecision().getValue() << "\n";
  os << "  batch " << getBatch(compilation);
  if (auto frames =
          compilation.getModule()->getAttrOfType<IntegerAttr>(kBatchFramesAttr))
    os << llvm::formatv(" on average, {0} frames", frames.getInt());
  if (plan.exchange.ranks > plan.stages.count)
    os << " (" << plan.batch << " a "
       << (plan.stages.count > 1 ? "replica" : "rank") << ")";
  os << llvm::formatv("; predicted {0:f4} s per update\n", plan.stepSeconds);
  if (plan.isMixed())
    for (const PlanRole &role : plan.roles) {
      os << "  " << ranksText(role.ranks) << ":\n";
      printRole(os, compilation, role);
    }
  else
    printRole(os, compilation, plan.role());
  if (plan.choice().updateInBackward)
    os << "  backward updates each parameter: nothing is clipped, and a norm "
          "that is not finite has spoilt them\n";
  os << "  an eager framework would hold about "
     << plan::formatByteSize(plan.eagerBytes) << "\n";
  for (const std::string &change : compilation.getChanges())
    os << "  another experiment: " << change << "\n";
  if (plan.exchange.ranks > 1)
    printExchange(os, compilation);
}
