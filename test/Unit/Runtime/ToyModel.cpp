//===- ToyModel.cpp - programs and manifest of the toy -------------------===//
//
// Buffers never overlap here; packing is the compiler's business.
//
//===----------------------------------------------------------------------===//

#include "ToyModel.h"
#include "Runtime/Device/Cpu/GemmScratch.h"
#include "ToyKernels.h"
#include <stdexcept>

namespace tts::test {

using nlohmann::json;

namespace {

struct Kernels {
  TtsKernel denominators, addBias, loss, gradPred, gradRest;
};

template <int B, int E> Kernels kernelsFor() {
  return {toyDenominators<B, E>, toyAddBias<B, E>, toyLoss<B, E>,
          toyGradPred<B, E>, toyGradRest<B, E>};
}

template <int B> Kernels kernelsFor(int extent) {
  return extent == 4   ? kernelsFor<B, 4>()
         : extent == 8 ? kernelsFor<B, 8>()
                       : kernelsFor<B, 16>();
}

Kernels kernelsFor(ToyBucket b) {
  if (b.extent != 4 && b.extent != 8 && b.extent != 16)
    throw std::logic_error("the toy has no such bucket");
  return b.microBatch == 1   ? kernelsFor<1>(b.extent)
         : b.microBatch == 2 ? kernelsFor<2>(b.extent)
         : b.microBatch == 4 ? kernelsFor<4>(b.extent)
                             : throw std::logic_error("no such micro-batch");
}

struct Builder {
  explicit Builder(const ToyOptions &o) : options(o) {}

  const ToyOptions &options;
  TableBuilder table;
  Slot weights, gradients, moment1, moment2, ema;
  Slot sumMel, sumPhone, denMel, denPhone, weightMel, weightPhone;
  Slot draw, optimizer, norm, scratch;
  json manifest;

  /// Parameter i (w, b, c) of one of the state buffers.
  Slot part(Slot states, int i, int floats) const {
    return {states.index, states.offset + uint64_t(i) * 64,
            uint64_t(floats) * 4};
  }

  Slot scalar(const std::string &name, const char *dtype, int n, int size) {
    Slot slot = table.buffer(name, TTS_CLASS_BUFFERS, uint64_t(n) * size,
                             size == 8 ? TTS_I64 : TTS_F32);
    manifest["scalars"].push_back(tensor(name, dtype, {n}, slot));
    return slot;
  }

  void states() {
    uint64_t bytes = toyStates * 4;
    weights = table.buffer("weights", TTS_CLASS_PARAMETERS, bytes);
    gradients = table.buffer("gradients", TTS_CLASS_GRADIENTS, bytes);
    moment1 = table.buffer("moment1", TTS_CLASS_OPTIMIZER, bytes);
    moment2 = table.buffer("moment2", TTS_CLASS_OPTIMIZER, bytes);
    ema = table.buffer("ema", TTS_CLASS_EMA, bytes);
    auto parameter = [&](int i, const char *name, std::vector<int> shape,
                         json init) {
      int n = 1;
      for (int extent : shape)
        n *= extent;
      json p = tensor(name, "F32", shape, part(weights, i, n));
      p["frozen"] = false;
      p["init"] = init;
      p["gradient"] = part(gradients, i, n).slice();
      p["moment1"] = part(moment1, i, n).slice();
      p["moment2"] = part(moment2, i, n).slice();
      p["ema"] = part(ema, i, n).slice();
      manifest["parameters"].push_back(p);
    };
    parameter(0, "proj.weight", {2, 2}, {{"kind", "normal"}, {"args", {0.5}}});
    parameter(1, "proj.bias", {2}, {{"kind", "zeros"}});
    parameter(2, "phone.mean", {1},
              {{"kind", "constant"}, {"args", {options.phoneInit}}});
  }

  void scalars() {
    draw = scalar("draw", "I64", 2, 8);
    sumMel = scalar("loss_sum.mel", "F32", 1, 4);
    sumPhone = scalar("loss_sum.phone", "F32", 1, 4);
    denMel = scalar("denominator.mel", "F32", 1, 4);
    denPhone = scalar("denominator.phone", "F32", 1, 4);
    weightMel = scalar("loss_weight.mel", "F32", 1, 4);
    weightPhone = scalar("loss_weight.phone", "F32", 1, 4);
    optimizer = scalar("optimizer", "F32", 8, 4);
    norm = scalar("grad_norm", "F32", 1, 4);
  }

  /// A·B or, accumulated, Aᵀ·B, with frames as rows of A.
  void gemm(Slot a, Slot b, Slot c, int rows, bool backward) {
    std::vector<int64_t> s(TTS_GEMM_NUM_SCALARS, 0);
    s[TTS_GEMM_M] = backward ? 2 : rows;
    s[TTS_GEMM_N] = 2;
    s[TTS_GEMM_K] = backward ? rows : 2;
    s[TTS_GEMM_LDA] = s[TTS_GEMM_LDB] = s[TTS_GEMM_LDC] = 2;
    s[TTS_GEMM_TRANSPOSE_A] = backward;
    s[TTS_GEMM_BETA] = backward;
    s[TTS_GEMM_BATCH] = 1;
    s[TTS_GEMM_SCRATCH] = int64_t(scratch.size);
    table.library("rt.gemm",
                  {reads(a), reads(b), backward ? updates(c) : writes(c),
                   updates(scratch)},
                  s);
  }

  void bucket(uint32_t index, ToyBucket b) {
    int B = b.microBatch, E = b.extent;
    uint64_t frames = uint64_t(B) * E;
    auto input = [&](const char *name, uint64_t bytes, TtsDType dtype) {
      return table.buffer(name, TTS_CLASS_BATCH, bytes, dtype);
    };
    Slot phones = input("phones", frames * 4, TTS_I32);
    Slot mel = input("mel", frames * 8, TTS_F32);
    Slot nPhones = input("phone_lengths", uint64_t(B) * 4, TTS_I32);
    Slot nFrames = input("frame_lengths", uint64_t(B) * 4, TTS_I32);
    Slot ids = input("utterance", uint64_t(B) * 8, TTS_I64);
    Slot pred = table.buffer("pred", TTS_CLASS_ACTIVATIONS, frames * 8);
    Slot dpred = table.buffer("dpred", TTS_CLASS_ACTIVATIONS, frames * 8);
    int rows = int(frames);
    Kernels k = kernelsFor(b);
    std::string tag = std::to_string(index);

    json inputs = {tensor("phones", "I32", {B, E}, phones),
                   tensor("mel", "F32", {B, E, 2}, mel),
                   tensor("phone_lengths", "I32", {B}, nPhones),
                   tensor("frame_lengths", "I32", {B}, nFrames),
                   tensor("utterance", "I64", {B}, ids)};
    inputs[0]["dims"] = {"batch", "text"};
    inputs[1]["dims"] = {"batch", "frames", "_"};
    inputs[2]["lengths"] = "text";
    inputs[3]["lengths"] = "frames";
    manifest["buckets"].push_back({{"dims", {{"text", E}, {"frames", E}}},
                                   {"micro_batch", B},
                                   {"inputs", inputs}});
    json output = tensor("mel", "F32", {B, E, 2}, pred);
    output["bucket"] = index;
    output["dims"] = {"batch", "frames", "_"};
    manifest["outputs"].push_back(output);

    auto denominators = [&] {
      table.kernel(
          "denominators" + tag, k.denominators, 1,
          {reads(nFrames), reads(nPhones), writes(denMel), writes(denPhone)});
    };
    auto forward = [&] {
      gemm(mel, part(weights, 0, 4), pred, rows, false);
      table.kernel("add_bias" + tag, k.addBias, uint32_t(B),
                   {updates(pred), reads(part(weights, 1, 2))});
      table.kernel("loss" + tag, k.loss, 1,
                   {reads(pred), reads(mel), reads(nFrames), reads(phones),
                    reads(nPhones), reads(part(weights, 2, 1)), writes(sumMel),
                    writes(sumPhone)});
    };
    table.program("denominators" + tag, TTS_PROGRAM_DENOMINATORS, index);
    denominators();
    table.program("forward" + tag, TTS_PROGRAM_FORWARD, index);
    forward();
    table.program("backward" + tag, TTS_PROGRAM_BACKWARD, index);
    table.kernel("grad_pred" + tag, k.gradPred, uint32_t(B),
                 {reads(pred), reads(mel), reads(nFrames), reads(weightMel),
                  writes(dpred)});
    gemm(mel, dpred, part(gradients, 0, 4), rows, true);
    table.kernel("grad_rest" + tag, k.gradRest, 1,
                 {reads(dpred), reads(phones), reads(nPhones),
                  reads(weightPhone), reads(part(weights, 2, 1)),
                  updates(part(gradients, 1, 2)),
                  updates(part(gradients, 2, 1))});
    table.program("eval" + tag, TTS_PROGRAM_EVAL, index);
    denominators();
    forward();
  }

  void update() {
    table.program("zero", TTS_PROGRAM_ZERO, TTS_NO_BUCKET);
    table.kernel("zero", toyZero, toyStates, {writes(gradients)});
    table.program("update", TTS_PROGRAM_UPDATE, TTS_NO_BUCKET);
    if (options.ranks > 1) {
      Slot room =
          table.buffer("messages", TTS_CLASS_COLLECTIVES, 64, TTS_BYTES);
      table.library("rt.all_reduce", {updates(gradients), writes(room)}, {});
    }
    table.kernel("norm", toyNorm, 1, {reads(gradients), writes(norm)});
    table.kernel(
        "adam", options.clip == 1 ? toyAdam<1000> : toyAdam<0>, toyStates,
        {updates(weights), reads(gradients), updates(moment1), updates(moment2),
         updates(ema), reads(optimizer), reads(norm)});
  }

  uint64_t scratchBytes() {
    int64_t most = 64;
    for (ToyBucket b : options.buckets)
      for (bool backward : {false, true}) {
        rt::GemmShape s;
        s.m = backward ? 2 : b.microBatch * b.extent;
        s.n = 2;
        s.k = backward ? b.microBatch * b.extent : 2;
        s.lda = s.ldb = s.ldc = 2;
        s.transposeA = s.accumulate = backward;
        most = std::max(most, rt::gemmScratchBytes(s, options.threads));
      }
    return uint64_t(most);
  }

  Toy finish() {
    const ToyOptions &o = options;
    manifest["version"] = 1;
    manifest["tool"] = "TableBuilder";
    manifest["batch"] = o.batch;
    if (o.batchFrames)
      manifest["batch_frames"] = o.batchFrames;
    if (o.hostBuffer)
      manifest["host_buffer_bytes"] = o.hostBuffer;
    manifest["threads"] = o.threads;
    manifest["ranks"] = o.ranks;
    manifest["precision"] = "fp32";
    if (!o.featuresHash.empty())
      manifest["features_hash"] = o.featuresHash;
    manifest["optimizer"] = {{"kind", "adamw"},
                             {"beta1", o.beta1},
                             {"beta2", o.beta2},
                             {"epsilon", o.epsilon},
                             {"ema", o.ema}};
    manifest["defaults"] = {{"lr", 0.01}, {"schedule", o.schedule}};
    manifest["losses"] = {{{"name", "mel"}, {"coefficient", 1.0}},
                          {{"name", "phone"}, {"coefficient", 1.0}}};
    manifest["arena_bytes"] = table.arenaBytes();
    manifest["peak_bytes"] =
        o.peak > 0 ? uint64_t(o.peak) : table.arenaBytes() + (24 << 20);
    manifest["budget_bytes"] = table.arenaBytes() + (32 << 20);
    return {table.build(manifest), table.kernels, table.arenaBytes()};
  }
};

} // namespace

Toy makeToy(const ToyOptions &options) {
  Builder b(options);
  b.states();
  b.scalars();
  b.scratch = b.table.buffer("scratch", TTS_CLASS_WORKSPACE, b.scratchBytes(),
                             TTS_BYTES);
  for (uint32_t i = 0; i < options.buckets.size(); ++i)
    b.bucket(i, options.buckets[i]);
  b.update();
  return b.finish();
}

} // namespace tts::test
