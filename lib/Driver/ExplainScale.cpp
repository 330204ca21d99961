//===- ExplainScale.cpp - the same update by other uses of the ranks -----===//

#include "PlanReport.h"

#include "tts-runtime/Format.h"
#include "tts/Analysis/BoundaryBytes.h"
#include "tts/Transforms/Plan/ByteSize.h"
#include "tts/Transforms/Plan/Candidate.h"
#include "tts/Transforms/Plan/Scale.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tts;

/// Frameworks sum gradients in buckets of about so many bytes: large enough
/// for the link, small enough that the last one is soon through. The CPU's
/// runtime has smaller ones (lib/Runtime/Device/Cpu/EarlySums.cpp).
static int64_t countPieces(int64_t gradientBytes, bool isGpu) {
  constexpr int64_t kPieceBytes = 25 << 20, kLeast = 1 << 20, kMost = 16;
  int64_t bytes = isGpu ? kPieceBytes : std::max(kLeast, gradientBytes / kMost);
  return std::max<int64_t>(gradientBytes / bytes, 1);
}

static plan::ScaleWork readWork(Compilation &compilation) {
  const PlanResult &plan = compilation.getPlan();
  const PlanRequest &request = compilation.getRequest();
  const StepMeasure &measure = plan.role().measure;
  const plan::ClassBytes &classes = measure.live.classes;
  plan::ScaleWork work;
  work.ranks = request.ranks;
  work.overlaps = request.hardware.isGpu;
  auto secondsOf = [&](int64_t kind, int64_t bucket) {
    auto it = measure.seconds.find({kind, bucket});
    return it == measure.seconds.end() ? 0.0 : it->second;
  };
  double forward = 0, backward = 0, runs = 0;
  int64_t most = 0;
  for (auto [index, share] : llvm::enumerate(plan.shares)) {
    int64_t microBatch = plan.plan.getMicroBatches()[index];
    double times = plan::expectedMicroBatches(plan.batch, share, microBatch);
    forward += times * (secondsOf(TTS_PROGRAM_DENOMINATORS, index) +
                        secondsOf(TTS_PROGRAM_FORWARD, index));
    backward += times * secondsOf(TTS_PROGRAM_BACKWARD, index);
    runs += times;
    most = std::max(most, microBatch);
  }
  work.microBatches = runs;
  work.utterances = most;
  work.forwardSeconds = forward / runs;
  work.backwardSeconds = backward / runs;
  work.updateSeconds = measure.updateSeconds();
  work.parameterBytes =
      classes[TTS_CLASS_PARAMETERS] + classes[TTS_CLASS_HALF_COPIES];
  work.gradientBytes = classes[TTS_CLASS_GRADIENTS];
  work.optimizerBytes = classes[TTS_CLASS_OPTIMIZER] + classes[TTS_CLASS_EMA];
  work.activationBytes = classes[TTS_CLASS_ACTIVATIONS];
  work.otherBytes = plan.peakBytes() - work.parameterBytes -
                    work.gradientBytes - work.optimizerBytes -
                    work.activationBytes;
  work.boundaryBytes = countBoundaryBytes(compilation.getModule(), most,
                                          plan.plan.getPrecision());
  work.pieces = countPieces(work.gradientBytes, request.hardware.isGpu);
  return work;
}

void tts::printScale(llvm::raw_ostream &os, Compilation &compilation) {
  const PlanResult &plan = compilation.getPlan();
  const PlanRequest &request = compilation.getRequest();
  if (request.ranks < 2 || !plan.fits)
    return;
  plan::ScaleWork work = readWork(compilation);
  os << llvm::formatv(
      "the same update on {0} ranks used otherwise, predicted by formulas and "
      "by a simulation of the schedule (docs/scale.md); {1}:\n",
      work.ranks,
      work.overlaps
          ? "collectives go on behind backward"
          : "collectives go on beside arithmetic, but for those of update "
            "and of stages");
  os << llvm::formatv(
      "  {0,-16} {9,11} {1,-11} {2,9} {3,9} {4,9} {5,9} {6,9} {7,15} "
      "{8,15}\n",
      "data x stages", "shards of", "s/update", "simulated", "bubble",
      "exposed", "arith.", "bytes a rank", "bytes sent", "micro-batch");
  for (const plan::ScaleLayout &layout : plan::findLayouts(work)) {
    if (!request.hardware.isGpu)
      work.overlaps =
          layout.stages == 1 && layout.sharding != plan::Sharding::Optimizer;
    plan::ScalePrediction p =
        plan::predictScale(work, layout, request.hardware);
    os << llvm::formatv(
        "  {0,-16} {10,11} {1,-11} {2,9:f4} {3,9:f4} {4,9:f4} {5,9:f4} "
        "{6,9:f4} {7,15} "
        "{8,15}  {9}\n",
        llvm::formatv("{0} x {1}", layout.data, layout.stages).str(),
        plan::shardingName(layout.sharding), p.stepSeconds(),
        plan::simulateScale(work, layout, request.hardware), p.bubbleSeconds,
        p.exposedSeconds, p.computeSeconds, p.rankBytes, p.sentBytes,
        p.rankBytes <= plan.budget ? "" : "over the budget",
        std::max<int64_t>(work.utterances / layout.split, 1));
  }
}
