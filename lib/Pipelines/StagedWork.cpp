//===- StagedWork.cpp - what an update takes in stages --------------------===//

#include "StagedWork.h"
#include "tts-runtime/Format.h"
#include "tts/Dialect/Rt/IR/RtDialect.h"
#include <cmath>
#include <numeric>

using namespace mlir;
using namespace tts;

namespace {
using Program = std::pair<int64_t, int64_t>; ///< kind and bucket

/// Bytes that one run of each program sends.
std::map<Program, int64_t> countSent(ModuleOp lowered) {
  std::map<Program, int64_t> sent;
  for (auto program : lowered.getOps<rt::ProgramOp>())
    if (program.getSlot() == 0)
      for (auto entry : program.getBody().getOps<rt::EntryOp>())
        if (entry.getFunction() == "rt.send")
          sent[{program.getKind(), program.getBucket()}] +=
              cast<rt::AccessAttr>(entry.getOperands()[0]).getSize();
  return sent;
}
} // namespace

StagedWork::StagedWork(ArrayRef<PlanRole> stages, ArrayRef<double> counts,
                       const plan::Link *link)
    : link(link), count(std::accumulate(counts.begin(), counts.end(), 0.0)) {
  for (const PlanRole &stage : stages)
    add(stage, counts);
}

double StagedWork::sendSeconds(int64_t bytes) const {
  return link && bytes ? link->latency + bytes / link->bandwidth : 0;
}

double StagedWork::pipelineSeconds() const {
  return plan::pipelineSeconds(times, std::max<int64_t>(1, std::lround(count)));
}

void StagedWork::add(const PlanRole &stage, ArrayRef<double> counts) {
  std::map<Program, int64_t> sent = countSent(*stage.lowered);
  auto average = [&](int64_t kind, auto &&of) {
    double sum = 0;
    for (auto [bucket, many] : llvm::enumerate(counts))
      sum += many * of(Program(kind, bucket));
    return sum / count;
  };
  auto seconds = [&](Program program) {
    auto it = stage.measure.seconds.find(program);
    return it == stage.measure.seconds.end() ? 0.0 : it->second;
  };
  auto sending = [&](Program program) { return sendSeconds(sent[program]); };
  plan::StageTimes t{average(TTS_PROGRAM_FORWARD, seconds),
                     average(TTS_PROGRAM_BACKWARD, seconds),
                     average(TTS_PROGRAM_FORWARD, sending),
                     average(TTS_PROGRAM_BACKWARD, sending)};
  times.push_back(t);
  for (auto &[program, bytes] : sent)
    mostSent = std::max(mostSent, bytes);
  busySeconds = std::max(busySeconds, count * (t.forward + t.backward));
  updateSeconds = std::max(updateSeconds, stage.measure.updateSeconds());
  denominatorSeconds = std::max(
      denominatorSeconds, count * average(TTS_PROGRAM_DENOMINATORS, seconds));
  gradientBytes =
      std::max(gradientBytes, stage.measure.live.classes[TTS_CLASS_GRADIENTS]);
}
