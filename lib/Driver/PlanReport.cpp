//===- PlanReport.cpp - the plan table and --explain ---------------------===//

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

std::string choiceText(const plan::Ladder &ladder,
                       const plan::JointChoice &choice) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleave(
      llvm::zip(ladder.getBuckets(), choice.candidates), os,
      [&](auto pair) {
        os << std::get<0>(pair).candidates[std::get<1>(pair)].microBatch;
      },
      ",");
  return text;
}
} // namespace

void tts::printPlanTable(llvm::raw_ostream &os, Compilation &compilation) {
  const PlanResult &plan = compilation.getPlan();
  const PlanRequest &request = compilation.getRequest();
  ModuleOp module = compilation.getModule();
  os << "plan of " << compilation.getPath() << " on " << request.hardware.name
     << ", " << request.threads << " threads, 1 rank (1 data x 1 stage), "
     << request.precision << "\n";
  os << llvm::formatv("  batch {0}; predicted {1:f4} s per update\n",
                      plan.ladder.getSettings().batch, plan.stepSeconds);
  os << llvm::formatv("  {0,-24} {1,12} {2,8} {3,14}\n", "bucket",
                      "micro-batch", "share", "s/micro-batch");
  for (auto [index, bucket] : llvm::enumerate(bucketsOf(module)))
    os << llvm::formatv("  {0,-24} {1,12} {2,6:f1} % {3,14:f4}\n",
                        bucketText(bucket), plan.plan.getMicroBatches()[index],
                        100 * plan.ladder.getBuckets()[index].share,
                        plan.measure.microBatchSeconds(index));
  int64_t used = 0;
  for (unsigned klass = 0; klass < plan::kNumClasses; ++klass) {
    int64_t bytes = plan.measure.live.classes[klass];
    used += bytes;
    if (bytes)
      printBytes(os, plan::className(klass), bytes);
  }
  printBytes(os, "unused", plan.measure.arenaBytes - used);
  printBytes(os, "overhead", plan.overheadBytes);
  printBytes(os, "peak", plan.peakBytes());
  printBytes(os, "budget", plan.budget);
  if (plan.isClamped)
    os << "  the budget asked for is more than " << request.hardware.name
       << " offers and was clamped\n";
  os << llvm::formatv(
      "  arena {0} bytes, {1:f2} % over the lower bound of {2} bytes\n",
      plan.measure.arenaBytes,
      100.0 * plan.measure.arenaBytes /
              std::max<int64_t>(plan.measure.live.most, 1) -
          100,
      plan.measure.live.most);
  os << "  an eager framework would hold about "
     << plan::formatByteSize(plan.eagerBytes) << "\n";
}

void tts::printCandidates(llvm::raw_ostream &os, Compilation &compilation) {
  const PlanResult &plan = compilation.getPlan();
  os << "candidates by bucket: bytes above the persistent ones, seconds of a "
        "micro-batch and of an update\n";
  for (auto [bucket, candidates] :
       llvm::zip(bucketsOf(compilation.getModule()), plan.ladder.getBuckets()))
    for (const plan::Candidate &c : candidates.candidates)
      os << llvm::formatv(
          "  {0,-24} micro-batch {1,4} {2,14} bytes {3,9:f4} s {4,9:f4} s\n",
          bucketText(bucket), c.microBatch, c.transientBytes,
          c.microBatchSeconds,
          c.microBatchSeconds *
              plan::expectedMicroBatches(plan.ladder.getSettings().batch,
                                         candidates.share, c.microBatch));
  os << "joint choices: micro-batches, peak bytes, seconds of an update\n";
  for (const plan::JointChoice &choice : plan.ladder.considered()) {
    bool isFront = llvm::any_of(plan.ladder.front(), [&](const auto &other) {
      return other.candidates == choice.candidates;
    });
    StringRef verdict = plan.fits && choice.candidates == plan.choice.candidates
                            ? "chosen: the fastest that fits"
                        : !isFront ? "another is no larger and faster"
                        : choice.peakBytes() > plan.budget ? "over the budget"
                                                           : "fits, slower";
    os << llvm::formatv("  {0,-24} {1,14} bytes {2,9:f4} s  {3}\n",
                        choiceText(plan.ladder, choice), choice.peakBytes(),
                        choice.stepSeconds, verdict);
  }
}
