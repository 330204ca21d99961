//===- Stages.cpp - do a pipeline's tables belong together? ---------------===//
//
// Stages meet in messages: where one takes another micro-batch than the next,
// or waits for one that the one before has not begun, they would wait for ever.
//
//===----------------------------------------------------------------------===//

#include "Runtime/Train/Stages.h"
#include "Runtime/Abi/Error.h"
#include "Runtime/Train/Replicas.h"

namespace tts::rt {

namespace {

[[noreturn]] void refuse(const std::string &what) {
  throw Error(Exit::Refused, "pipeline", what,
              "recompile the model with this version of tts-compile");
}

std::string number(double value) { return std::to_string(value) + ";"; }

/// What all stages' manifests say alike.
std::string commonText(const Manifest &manifest) {
  std::string text = number(double(manifest.batch));
  for (const Bucket &bucket : manifest.buckets) {
    text += number(double(bucket.microBatch)) + number(bucket.seconds * 1e9);
    for (const auto &[dim, extent] : bucket.dims)
      text += dim + "=" + number(double(extent));
  }
  for (const Loss &loss : manifest.losses)
    text += loss.name + "=" + number(loss.coefficient);
  for (const Parameter &p : manifest.parameters) {
    text += p.value.name + "@" + number(p.stage) + dtypeName(p.value.dtype);
    for (int64_t extent : p.value.shape)
      text += number(double(extent));
  }
  return text;
}

} // namespace

void checkStages(const Manifest &manifest, World &world) {
  if (manifest.stages.count == 1)
    return;
  std::string text = commonText(manifest);
  uint64_t sum = checksum(text.data(), text.size());
  double own[] = {double(sum >> 32), double(uint32_t(sum)),
                  double(manifest.stages.slots)};
  const double *all = world.gather(own, 3, Among::Stages);
  for (int s = 1; s < manifest.stages.count; ++s) {
    const double *before = all + 3 * (s - 1), *here = all + 3 * s;
    if (before[0] != here[0] || before[1] != here[1])
      refuse("stages " + std::to_string(s - 1) + " and " + std::to_string(s) +
             " are not of one model, or not of one plan");
    if (before[2] < here[2])
      refuse("stage " + std::to_string(s) +
             " has more micro-batches under way than the one before");
  }
}

} // namespace tts::rt
