//===- ToyStages.cpp - programs and manifest of one stage of the toy ------===//
//
// Buffers never overlap, but those of the planted fault.
//
//===----------------------------------------------------------------------===//

#include "ToyStages.h"
#include "ToyStagesKernels.h"
#include <stdexcept>

namespace tts::test {

using nlohmann::json;

namespace {

struct Kernels {
  TtsKernel countFrames, countPhones, scale, scaleBack, scaleGrad, melLoss,
      melGrad, phoneLoss, phoneGrad;
};

template <int B, int E> Kernels kernelsFor() {
  return {toyCount<B, 2>,  toyCount<B, 1>,     toyScale<E>,
          toyScaleBack<E>, toyScaleGrad<B, E>, toyMelLoss<B, E>,
          toyMelGrad<E>,   toyPhoneLoss<B, E>, toyPhoneGrad<B, E>};
}

template <int B> Kernels kernelsFor(int extent) {
  return extent == 4   ? kernelsFor<B, 4>()
         : extent == 8 ? kernelsFor<B, 8>()
                       : kernelsFor<B, 16>();
}

Kernels kernelsFor(ToyBucket b) {
  return b.microBatch == 1   ? kernelsFor<1>(b.extent)
         : b.microBatch == 2 ? kernelsFor<2>(b.extent)
                             : throw std::logic_error("no such micro-batch");
}

/// By how many parameters a stage has: two of each layer, perhaps the mean.
TtsKernel squaresOf(int parameters) {
  switch (parameters) {
  case 2:
    return toySquares<2>;
  case 3:
    return toySquares<3>;
  case 4:
    return toySquares<4>;
  case 5:
    return toySquares<5>;
  case 9:
    return toySquares<9>;
  }
  throw std::logic_error("no such number of stages");
}

struct StageBuilder {
  explicit StageBuilder(const ToyStagesOptions &o)
      : o(o), first(o.stage * toyLayers / o.stages),
        end((o.stage + 1) * toyLayers / o.stages), isFirst(o.stage == 0),
        isLast(o.stage + 1 == o.stages),
        slots(std::min(o.stages - o.stage, o.mostSlots)),
        own(2 * (end - first) + isFirst) {}

  const ToyStagesOptions &o;
  int first, end; ///< layers
  bool isFirst, isLast;
  int slots, own; ///< parameters
  TableBuilder table;
  json manifest;
  Slot weights, gradients, moment1, moment2, ema;
  Slot sumMel, sumPhone, denMel, denPhone, weightMel, weightPhone;
  Slot optimizer, norm, outboxOn, outboxBack;

  Slot part(Slot states, int i, int floats) const {
    return {states.index, states.offset + uint64_t(i) * 64,
            uint64_t(floats) * 4};
  }
  /// Of a layer, among this stage's parameters.
  int scaleOf(int layer) const { return 2 * (layer - first); }
  int meanIndex() const { return own - 1; }

  Slot scalar(const std::string &name, const char *dtype, int n, int size) {
    Slot slot = table.buffer(name, TTS_CLASS_BUFFERS, uint64_t(n) * size,
                             size == 8 ? TTS_I64 : TTS_F32);
    manifest["scalars"].push_back(tensor(name, dtype, {n}, slot));
    return slot;
  }

  void parameter(const std::string &name, int n, int stage, int index) {
    json p{{"name", name}, {"dtype", "F32"}, {"shape", {n}}, {"stage", stage}};
    if (stage == o.stage) {
      p.update(part(weights, index, n).slice());
      p["gradient"] = part(gradients, index, n).slice();
      p["moment1"] = part(moment1, index, n).slice();
      p["moment2"] = part(moment2, index, n).slice();
      p["ema"] = part(ema, index, n).slice();
    }
    p["init"] = {{"kind", "normal"}, {"args", {0.5}}};
    manifest["parameters"].push_back(p);
  }

  void states() {
    uint64_t bytes = uint64_t(own) * 64;
    weights = table.buffer("weights", TTS_CLASS_PARAMETERS, bytes);
    gradients = table.buffer("gradients", TTS_CLASS_GRADIENTS, bytes);
    moment1 = table.buffer("moment1", TTS_CLASS_OPTIMIZER, bytes);
    moment2 = table.buffer("moment2", TTS_CLASS_OPTIMIZER, bytes);
    ema = table.buffer("ema", TTS_CLASS_EMA, bytes);
    for (int layer = 0; layer < toyLayers; ++layer) {
      int stage = layer * o.stages / toyLayers;
      std::string name = "layers." + std::to_string(layer);
      parameter(name + ".scale", 2, stage, scaleOf(layer));
      parameter(name + ".bias", 2, stage, scaleOf(layer) + 1);
    }
    parameter("phone.mean", 1, 0, meanIndex());
    scalar("draw", "I64", 2, 8);
    if (isLast) {
      sumMel = scalar("loss_sum.mel", "F32", 1, 4);
      denMel = scalar("denominator.mel", "F32", 1, 4);
      weightMel = scalar("loss_weight.mel", "F32", 1, 4);
    }
    if (isFirst) {
      sumPhone = scalar("loss_sum.phone", "F32", 1, 4);
      denPhone = scalar("denominator.phone", "F32", 1, 4);
      weightPhone = scalar("loss_weight.phone", "F32", 1, 4);
    }
    optimizer = scalar("optimizer", "F32", 8, 4);
    norm = scalar("grad_norm", "F32", 1, 4);
    outboxOn = table.buffer("outbox.on", TTS_CLASS_COLLECTIVES, 256, TTS_BYTES);
    outboxBack =
        table.buffer("outbox.back", TTS_CLASS_COLLECTIVES, 256, TTS_BYTES);
  }

  /// Kind 0: forward, 1: backward, 2: eval; between `lower` and the next stage.
  int64_t channel(uint32_t bucket, int kind, int lower) const {
    return (int64_t(bucket) * 3 + kind) * o.stages + lower;
  }

  void bucket(uint32_t index, ToyBucket b) {
    int B = b.microBatch, E = b.extent;
    uint64_t bytes = uint64_t(B) * E * 8;
    auto input = [&](const char *name, uint64_t size, TtsDType dtype) {
      return table.buffer(name, TTS_CLASS_BATCH, size, dtype);
    };
    auto activation = [&](const std::string &name) {
      return table.buffer(name, TTS_CLASS_ACTIVATIONS, bytes);
    };
    Slot phones = input("phones", uint64_t(B) * E * 4, TTS_I32);
    Slot mel = input("mel", bytes, TTS_F32);
    Slot nPhones = input("phone_lengths", uint64_t(B) * 4, TTS_I32);
    Slot nFrames = input("frame_lengths", uint64_t(B) * 4, TTS_I32);
    json inputs = {tensor("phones", "I32", {B, E}, phones),
                   tensor("mel", "F32", {B, E, 2}, mel),
                   tensor("phone_lengths", "I32", {B}, nPhones),
                   tensor("frame_lengths", "I32", {B}, nFrames)};
    inputs[2]["lengths"] = "text";
    inputs[3]["lengths"] = "frames";
    manifest["buckets"].push_back({{"dims", {{"text", E}, {"frames", E}}},
                                   {"micro_batch", B},
                                   {"inputs", inputs}});
    Kernels k = kernelsFor(b);
    std::string tag = std::to_string(index);

    // By slot: the inputs of this stage's layers, and what the last gives.
    std::vector<std::vector<Slot>> h{size_t(slots)};
    for (int slot = 0; slot < slots; ++slot)
      for (int layer = first; layer <= end; ++layer)
        h[slot].push_back(layer == 0 ? mel
                          : slot && o.sharesStash
                              ? h[0][size_t(layer - first)]
                              : activation("h" + std::to_string(layer)));
    std::vector<Slot> dh;
    for (int layer = first; layer <= end; ++layer)
      dh.push_back(activation("dh" + std::to_string(layer)));

    auto denominators = [&] {
      if (isLast)
        table.kernel("frames" + tag, k.countFrames, 1,
                     {reads(nFrames), writes(denMel)});
      if (isFirst)
        table.kernel("phones" + tag, k.countPhones, 1,
                     {reads(nPhones), writes(denPhone)});
    };
    auto forward = [&](int slot, int kind) {
      const std::vector<Slot> &own = h[size_t(slot)];
      if (!isFirst)
        table.library("rt.recv", {writes(own.front())},
                      {o.stage - 1, channel(index, kind, o.stage - 1)});
      for (int layer = first; layer < end; ++layer)
        table.kernel("scale" + tag, k.scale, uint32_t(B),
                     {reads(own[size_t(layer - first)]),
                      reads(part(weights, scaleOf(layer), 2)),
                      reads(part(weights, scaleOf(layer) + 1, 2)),
                      writes(own[size_t(layer - first) + 1])});
      if (isFirst)
        table.kernel("phone_loss" + tag, k.phoneLoss, 1,
                     {reads(phones), reads(nPhones),
                      reads(part(weights, meanIndex(), 1)), writes(sumPhone)});
      if (isLast)
        table.kernel(
            "mel_loss" + tag, k.melLoss, 1,
            {reads(own.back()), reads(mel), reads(nFrames), writes(sumMel)});
      else
        table.library("rt.send", {reads(own.back()), writes(outboxOn)},
                      {o.stage + 1, channel(index, kind, o.stage)});
    };
    auto backward = [&](int slot) {
      const std::vector<Slot> &own = h[size_t(slot)];
      if (isLast)
        table.kernel("mel_grad" + tag, k.melGrad, uint32_t(B),
                     {reads(own.back()), reads(mel), reads(nFrames),
                      reads(weightMel), writes(dh.back())});
      else
        table.library("rt.recv", {writes(dh.back())},
                      {o.stage + 1, channel(index, 1, o.stage)});
      for (int layer = end - 1; layer >= first; --layer) {
        size_t i = size_t(layer - first);
        table.kernel("scale_grad" + tag, k.scaleGrad, 1,
                     {reads(dh[i + 1]), reads(own[i]),
                      updates(part(gradients, scaleOf(layer), 2)),
                      updates(part(gradients, scaleOf(layer) + 1, 2))});
        table.kernel("scale_back" + tag, k.scaleBack, uint32_t(B),
                     {reads(dh[i + 1]), reads(part(weights, scaleOf(layer), 2)),
                      writes(dh[i])});
      }
      if (isFirst)
        table.kernel("phone_grad" + tag, k.phoneGrad, 1,
                     {reads(phones), reads(nPhones),
                      reads(part(weights, meanIndex(), 1)), reads(weightPhone),
                      updates(part(gradients, meanIndex(), 1))});
      else
        table.library("rt.send", {reads(dh.front()), writes(outboxBack)},
                      {o.stage - 1, channel(index, 1, o.stage - 1)});
    };
    table.program("denominators" + tag, TTS_PROGRAM_DENOMINATORS, index);
    denominators();
    for (int slot = 0; slot < slots; ++slot) {
      table.program("forward" + tag, TTS_PROGRAM_FORWARD, index,
                    uint32_t(slot));
      forward(slot, 0);
    }
    for (int slot = 0; slot < slots; ++slot) {
      table.program("backward" + tag, TTS_PROGRAM_BACKWARD, index,
                    uint32_t(slot));
      backward(slot);
    }
    table.program("eval" + tag, TTS_PROGRAM_EVAL, index);
    denominators();
    forward(0, 2);
  }

  void update() {
    uint32_t floats = uint32_t(own) * 16;
    table.program("zero", TTS_PROGRAM_ZERO, TTS_NO_BUCKET);
    table.kernel("zero", toyZero, floats, {writes(gradients)});
    table.program("update", TTS_PROGRAM_UPDATE, TTS_NO_BUCKET);
    Slot room = table.buffer("room", TTS_CLASS_COLLECTIVES, 64, TTS_BYTES);
    Slot square = table.buffer("square", TTS_CLASS_ACTIVATIONS, 8, TTS_F64);
    if (o.replicas > 1)
      table.library("rt.all_reduce", {updates(gradients), writes(room)},
                    {TTS_AMONG_REPLICAS});
    table.kernel("squares", squaresOf(own), 1,
                 {reads(gradients), writes(square)});
    if (o.stages > 1)
      table.library("rt.all_reduce", {updates(square), writes(room)},
                    {TTS_AMONG_STAGES});
    table.kernel("root", toyRoot, 1, {reads(square), writes(norm)});
    table.kernel("adam", toyAdam<0>, floats,
                 {updates(weights), reads(gradients), updates(moment1),
                  updates(moment2), updates(ema), reads(optimizer),
                  reads(norm)});
  }

  Toy finish() {
    manifest["version"] = 1;
    manifest["tool"] = "TableBuilder";
    manifest["batch"] = o.batch;
    manifest["threads"] = o.threads;
    manifest["ranks"] = o.stages * o.replicas;
    if (o.stages > 1)
      manifest["stages"] = {
          {"count", o.stages}, {"index", o.stage}, {"slots", slots}};
    manifest["precision"] = "fp32";
    manifest["optimizer"] = {{"kind", "adamw"}, {"ema", 0.9}};
    manifest["defaults"] = {{"lr", 0.01}, {"schedule", "constant"}};
    manifest["losses"] = {{{"name", "mel"}, {"coefficient", 1.0}},
                          {{"name", "phone"}, {"coefficient", 0.25}}};
    manifest["outputs"] = json::array();
    manifest["arena_bytes"] = table.arenaBytes();
    manifest["overhead_bytes"] = 24 << 20;
    manifest["host_buffer_bytes"] = 0; // as many as the corpus needs
    manifest["peak_bytes"] = table.arenaBytes() + (24 << 20);
    manifest["budget_bytes"] = table.arenaBytes() + (48 << 20);
    return {table.build(manifest), table.kernels, table.arenaBytes()};
  }
};

} // namespace

Toy makeToyStage(const ToyStagesOptions &options) {
  StageBuilder b(options);
  b.states();
  for (uint32_t i = 0; i < options.buckets.size(); ++i)
    b.bucket(i, options.buckets[i]);
  b.update();
  return b.finish();
}

} // namespace tts::test
