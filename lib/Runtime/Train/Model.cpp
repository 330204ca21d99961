//===- Model.cpp - bring-up and names ------------------------------------===//
//
// The order of the members is the order of bring-up: table, manifest, arena,
// primitives.
//
//===----------------------------------------------------------------------===//

#include "Runtime/Train/Model.h"
#include "Runtime/Abi/Error.h"
#include "Runtime/Train/Stages.h"
#include <algorithm>
#include <cstring>

namespace tts::rt {

namespace {

constexpr const char *programNames[] = TTS_PROGRAM_NAMES;

bool isPerBucket(TtsProgramKind kind) {
  return kind != TTS_PROGRAM_ZERO && kind != TTS_PROGRAM_UPDATE &&
         kind < TTS_PROGRAM_FOLD;
}

[[noreturn]] void damaged(const std::string &what) {
  throw Error(Exit::Refused, "step table's manifest", what,
              "recompile the model with this version of tts-compile");
}

} // namespace

Model::Model(const void *blob, uint64_t blobBytes, const TtsKernel *kernels,
             World *world)
    : table(blob, blobBytes),
      manifest(table.manifest(), table.arenaBytes(), world ? world->rank() : 0),
      arena(table.arenaBytes(), manifest.threads),
      executor(table, kernels, arena, manifest.threads, world), world(world) {
  if (world && (world->stages() != manifest.stages.count ||
                world->stage() != manifest.stages.index))
    damaged("it is of another pipeline stage than this rank");
  indexPrograms();
  resolveScalars();
  if (world)
    checkStages(manifest, *world);
  executor.rehearse();
}

void Model::indexPrograms() {
  size_t buckets = manifest.buckets.size(),
         slots = size_t(manifest.stages.slots);
  programIndex.assign(TTS_NUM_PROGRAM_KINDS * (buckets + 1) * slots, none);
  for (uint32_t i = 0; i < table.programs.size(); ++i) {
    const TtsProgram &program = table.programs[i];
    bool perBucket = isPerBucket(TtsProgramKind(program.kind));
    if (perBucket && program.bucket >= buckets)
      damaged(std::string("program '") + table.name(program.name) +
              "' has no bucket");
    if (program.slot >= slots)
      damaged(std::string("program '") + table.name(program.name) +
              "' has no slot");
    size_t column = perBucket ? program.bucket : buckets;
    programIndex[(program.kind * (buckets + 1) + column) * slots +
                 program.slot] = i;
  }
  for (TtsProgramKind kind : {TTS_PROGRAM_FORWARD, TTS_PROGRAM_BACKWARD})
    for (uint32_t b = 0; b < buckets; ++b)
      for (uint32_t slot = 1; slot < slots; ++slot)
        if (has(kind, b) && programOf(kind, b, slot) == none)
          damaged(std::string("program '") + programNames[kind] +
                  "' lacks a slot");
}

void Model::resolveScalars() {
  auto need = [&](const std::string &name, int64_t elements) {
    const Tensor *scalar = manifest.scalar(name);
    if (!scalar)
      damaged("scalar '" + name + "' is missing");
    if (scalar->elements() != elements ||
        (scalar->dtype != TTS_F32 && scalar->dtype != TTS_F64))
      damaged("scalar '" + name + "' has the wrong type");
    return scalar;
  };
  bool trains = has(TTS_PROGRAM_UPDATE, 0) || manifest.updateInBackward;
  for (const Loss &loss : manifest.losses)
    if (manifest.stages.count > 1 && !manifest.scalar("loss_sum." + loss.name))
      losses.push_back({nullptr, nullptr, nullptr});
    else
      losses.push_back(
          {need("loss_sum." + loss.name, 1),
           need("denominator." + loss.name, 1),
           trains ? need("loss_weight." + loss.name, 1) : nullptr});
  draw = manifest.scalar("draw");
  if (draw && (draw->dtype != TTS_I64 || draw->elements() != 2))
    damaged("scalar 'draw' is not I64[2]");
  if (trains) {
    optimizer = need("optimizer", 8);
    gradNorm = need("grad_norm", 1);
    if (manifest.scalar("inverse_loss_scale"))
      inverseLossScale = need("inverse_loss_scale", 1);
  }
}

uint32_t Model::programOf(TtsProgramKind kind, uint32_t bucket,
                          uint32_t slot) const {
  size_t buckets = manifest.buckets.size();
  size_t slots = size_t(manifest.stages.slots);
  size_t column = isPerBucket(kind) ? bucket : buckets;
  return column > buckets || slot >= slots
             ? none
             : programIndex[(kind * (buckets + 1) + column) * slots + slot];
}

bool Model::has(TtsProgramKind kind, uint32_t bucket) const {
  return programOf(kind, bucket) != none;
}

void Model::run(TtsProgramKind kind, uint32_t bucket, uint32_t slot) {
  uint32_t program = programOf(kind, bucket, slot);
  if (program == none)
    throw Error(Exit::BadInput, "program",
                std::string("'") + programNames[kind] +
                    "' does not exist for bucket " + std::to_string(bucket),
                "use a program and bucket of this model");
  executor.run(program);
}

/// A shard is flat, padding and all.
static Tensor asHeld(Tensor tensor) {
  if (tensor.at.isShard)
    tensor.shape = {int64_t(tensor.at.size / dtypeSize(tensor.dtype))};
  return tensor;
}

void Model::runLastBackward(uint32_t bucket, uint32_t slot) {
  executor.runLastBackward(programOf(TTS_PROGRAM_BACKWARD, bucket, slot));
}

Tensor Model::find(const std::string &name, uint32_t bucket) const {
  auto missing = [&]() -> Tensor {
    throw Error(Exit::BadInput, "tensor '" + name + "'", "there is none",
                "use a name of the model's manifest");
  };
  auto scalarOr = [&](const std::string &full) {
    const Tensor *scalar = manifest.scalar(full);
    return scalar ? *scalar : missing();
  };
  auto parameter = [&](const std::string &own) -> const Parameter * {
    for (const Parameter &p : manifest.parameters)
      if (p.value.name == own)
        return &p;
    return nullptr;
  };
  if (const Parameter *p = parameter(name))
    return p->isElsewhere ? missing() : asHeld(p->value);

  size_t colon = name.find(':');
  if (colon == std::string::npos)
    return missing();
  std::string kind = name.substr(0, colon), rest = name.substr(colon + 1);
  if (kind == "scalar")
    return scalarOr(rest);
  if (kind == "loss")
    return scalarOr("loss_sum." + rest);
  if (kind == "denominator")
    return scalarOr("denominator." + rest);
  if (kind == "input" && bucket < manifest.buckets.size())
    for (const auto *inputs : {&manifest.buckets[bucket].inputs,
                               &manifest.buckets[bucket].inferInputs})
      for (const Tensor &input : *inputs)
        if (input.name == rest)
          return input;
  if (kind == "output" || kind == "infer")
    for (const Output &output : manifest.outputs)
      if (output.bucket == bucket && output.ofInfer == (kind == "infer") &&
          output.tensor.name == rest)
        return output.tensor;
  if (const Parameter *p = parameter(rest)) {
    Tensor tensor = p->value;
    tensor.name = name;
    tensor.at = kind == "grad"      ? p->gradient
                : kind == "moment1" ? p->moment1
                : kind == "moment2" ? p->moment2
                : kind == "ema"     ? p->ema
                : kind == "next"    ? p->next
                                    : Slice();
    if (kind == "half") {
      tensor.at = p->halfCopy;
      tensor.dtype = p->halfDtype;
    }
    if (tensor.at)
      return asHeld(tensor);
  }
  return missing();
}

double Model::readScalar(const Tensor &scalar) const {
  const char *data = arena.at(scalar.at.offset);
  if (scalar.dtype == TTS_F64)
    return *reinterpret_cast<const double *>(data);
  return double(*reinterpret_cast<const float *>(data));
}

void Model::writeScalar(const Tensor &scalar, const double *values,
                        size_t count) {
  char *data = arena.at(scalar.at.offset);
  for (size_t i = 0; i < count; ++i)
    if (scalar.dtype == TTS_F64)
      reinterpret_cast<double *>(data)[i] = values[i];
    else
      reinterpret_cast<float *>(data)[i] = float(values[i]);
}

} // namespace tts::rt
