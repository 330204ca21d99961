//===- StepMeasure.cpp - figures of a module after Memory ----------------===//

#include "tts/Pipelines/StepMeasure.h"

#include "tts-runtime/Format.h"
#include "tts/Pipelines/EntryWork.h"
#include "tts/Pipelines/LinkWaits.h"
#include "tts/Target/Cpu/Passes.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace tts;

namespace {

uint64_t primitiveOf(rt::EntryOp entry) {
  ArrayRef<int64_t> s = entry.getScalars();
  return llvm::hash_combine(llvm::hash_value(entry.getFunction()),
                            llvm::hash_combine_range(s.begin(), s.end()));
}

/// The library's memory for a convolution, in primitives of `rt.gemm`: of
/// several taps it is 60 kB and 130 bytes an input channel, and for each row
/// 1,200 bytes and 2.6 an input channel (docs/planning.md); and one primitive
/// that puts the weights into blocks.
int64_t primitivesOfConv1d(ArrayRef<int64_t> s) {
  constexpr double perPrimitive = 90e3;
  if (s[TTS_CONV1D_TAPS] == 1)
    return 2;
  double in = s[TTS_CONV1D_IN];
  double bytes = 60e3 + 130 * in + s[TTS_CONV1D_TIME] * (1200 + 2.6 * in);
  return 1 + int64_t(std::ceil(bytes / perPrimitive));
}

void addPrimitives(rt::EntryOp entry, std::vector<uint64_t> &primitives) {
  int64_t count = entry.getFunction() == "rt.gemm"
                      ? !cpu::isGeneratedGemm(entry) // kernels have none
                  : entry.getFunction() == "rt.conv1d"
                      ? primitivesOfConv1d(entry.getScalars())
                      : 0; // a kernel
  for (int64_t i = 0; i < count; ++i)
    primitives.push_back(llvm::hash_combine(primitiveOf(entry), i));
}

void measureLive(ModuleOp module, StepMeasure &measure) {
  SmallVector<plan::ProgramSpan> programs = getProgramSpans(module);
  SmallVector<plan::LiveRange> ranges;
  auto buffers = module->getAttrOfType<ArrayAttr>(rt::kBuffersAttr);
  for (auto buffer : buffers.getAsRange<rt::BufferAttr>()) {
    ranges.push_back({buffer.getKlass(), buffer.getProgram(),
                      buffer.getLastProgram(), buffer.getFirstEntry(),
                      buffer.getLastEntry(), buffer.getSize()});
    if (buffer.getProgram() >= 0)
      continue;
    StringRef name = buffer.getName().getValue();
    if (buffer.getKlass() == TTS_CLASS_BATCH)
      measure.batchBytes[name] = buffer.getSize();
    else
      measure.stateBytes[{buffer.getKlass(), name}] = buffer.getSize();
  }
  measure.live = plan::measureLiveBytes(programs, ranges);
  llvm::erase_if(ranges, [&](const plan::LiveRange &range) {
    if (range.program < 0)
      return true;
    int64_t kind = programs[range.program].kind;
    return kind == TTS_PROGRAM_FORWARD || kind == TTS_PROGRAM_BACKWARD;
  });
  measure.sideBytes = plan::measureLiveBytes(programs, ranges).most;
}

/// What the loader holds of one utterance: every input that a corpus has, so
/// neither lengths nor ids.
int64_t hostBytesOfUtterance(DictionaryAttr bucket) {
  int64_t bytes = 0;
  int64_t microBatch = bucket.getAs<IntegerAttr>("micro_batch").getInt();
  for (auto input :
       bucket.getAs<ArrayAttr>("inputs").getAsRange<DictionaryAttr>()) {
    if (input.contains("lengths") ||
        input.getAs<StringAttr>("name").getValue() == "utterance")
      continue;
    int64_t size = input.getAs<IntegerAttr>("size").getInt() / microBatch;
    bytes += llvm::alignTo(size, TTS_ARENA_ALIGNMENT);
  }
  return bytes;
}

} // namespace

SmallVector<plan::ProgramSpan> tts::getProgramSpans(ModuleOp module) {
  SmallVector<plan::ProgramSpan> spans;
  for (auto program : module.getOps<rt::ProgramOp>())
    spans.push_back({static_cast<int64_t>(program.getKind()),
                     static_cast<int64_t>(program.getBucket()),
                     static_cast<int64_t>(
                         program.getBody().front().getOperations().size())});
  return spans;
}

plan::ClassBytes StepMeasure::transientClasses() const {
  plan::ClassBytes classes = live.classes;
  for (const auto &[state, bytes] : stateBytes)
    classes[state.first] -= bytes;
  classes[TTS_CLASS_BATCH] = 0;
  return classes;
}

double StepMeasure::microBatchSeconds(int64_t bucket) const {
  double sum = waitSeconds(bucket);
  for (int64_t kind :
       {TTS_PROGRAM_DENOMINATORS, TTS_PROGRAM_FORWARD, TTS_PROGRAM_BACKWARD})
    if (auto it = seconds.find({kind, bucket}); it != seconds.end())
      sum += it->second;
  return sum;
}

double StepMeasure::waitSeconds(int64_t bucket) const {
  double sum = 0;
  for (int64_t kind : {TTS_PROGRAM_FORWARD, TTS_PROGRAM_BACKWARD})
    if (auto it = waits.find({kind, bucket}); it != waits.end())
      sum += it->second;
  return sum;
}

double StepMeasure::updateSeconds() const {
  double sum = 0;
  for (const auto &[program, time] : seconds)
    if (program.second < 0) // no bucket's
      sum += time;
  return sum;
}

StepMeasure tts::measureStep(ModuleOp module, const plan::Hardware &hardware,
                             int threads) {
  StepMeasure measure;
  measure.arenaBytes =
      module->getAttrOfType<IntegerAttr>(rt::kArenaAttr).getInt();
  measure.persistentBytes =
      module->getAttrOfType<IntegerAttr>(rt::kPersistentAttr).getInt();
  measureLive(module, measure);

  plan::EntryTimes times(hardware, threads);
  llvm::DenseMap<Operation *, double> ofEntries;
  visitWork(module,
            [&](rt::ProgramOp program, rt::EntryOp entry, const auto &work) {
              ofEntries[entry] = times.seconds(work);
              if (program.getSlot() > 0)
                return; // each takes as long
              measure.seconds[{program.getKind(), program.getBucket()}] +=
                  ofEntries[entry];
            });
  for (auto program : module.getOps<rt::ProgramOp>())
    if (program.getSlot() == 0 && (program.getKind() == TTS_PROGRAM_FORWARD ||
                                   program.getKind() == TTS_PROGRAM_BACKWARD))
      measure.waits[{program.getKind(), program.getBucket()}] =
          countLinkWaits(program, ofEntries, hardware);
  for (auto program : module.getOps<rt::ProgramOp>())
    for (auto entry : program.getBody().getOps<rt::EntryOp>())
      addPrimitives(entry, measure.primitives);
  llvm::sort(measure.primitives);
  measure.primitives.erase(llvm::unique(measure.primitives),
                           measure.primitives.end());

  auto manifest = module->getAttrOfType<DictionaryAttr>(rt::kManifestAttr);
  for (auto bucket :
       manifest.getAs<ArrayAttr>("buckets").getAsRange<DictionaryAttr>())
    measure.hostBytes.push_back(hostBytesOfUtterance(bucket));
  return measure;
}
