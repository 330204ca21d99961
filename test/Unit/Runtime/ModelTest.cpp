//===- ModelTest.cpp - programs, accumulation, Adam, on the toy ----------===//
//
// Reports 1, 2, 4 and 7: a loss is divided once, by the count over the whole
// update; step count, decay and EMA move once per update.
//
//===----------------------------------------------------------------------===//

#include "Runtime/Abi/Error.h"
#include "Runtime/Train/Initialize.h"
#include "Runtime/Train/NonFinite.h"
#include "Runtime/Train/Update.h"
#include "ToyModel.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <sys/resource.h>

using namespace tts;
using namespace tts::rt;

namespace {

/// Phones of one utterance per slot; mel frames are all zero and as many.
using Phones = std::vector<std::vector<int32_t>>;

class ToyRun {
public:
  explicit ToyRun(const test::ToyOptions &options)
      : toy(test::makeToy(options)),
        model(toy.blob.data(), toy.blobBytes(), toy.kernels.data()),
        result(model) {
    initializeParameters(model.manifest, model.arena, 1);
  }

  float *data(const std::string &name) {
    return reinterpret_cast<float *>(
        model.arena.at(model.find(name, 0).at.offset));
  }

  /// One update; each element of `batches` is a micro-batch of bucket 0.
  void update(const std::vector<Phones> &batches, UpdateScalars scalars) {
    std::vector<uint32_t> buckets(batches.size(), 0);
    MicroBatches micro{buckets.data(), buckets.size(),
                       [&](size_t i) { load(batches[i]); },
                       [&](size_t) {
                         if (poison)
                           data("grad:proj.weight")[3] = NAN;
                       }};
    runUpdate(model, micro, scalars, result);
    if (!result.finite) // without the poison, whatever it finds
      found = findNonFinite(model, micro, scalars);
  }

  test::Toy toy;
  Model model;
  UpdateResult result;
  NonFinite found;     ///< of the last update that was refused
  bool poison = false; ///< a gradient becomes NaN after backward

private:
  void load(const Phones &phones) {
    const Bucket &bucket = model.manifest.buckets[0];
    for (const Tensor &input : bucket.inputs)
      std::memset(model.arena.at(input.at.offset), 0, input.at.size);
    int64_t extent = bucket.inputs[0].shape[1];
    auto *text =
        reinterpret_cast<int32_t *>(model.arena.at(bucket.inputs[0].at.offset));
    auto *lengths =
        reinterpret_cast<int32_t *>(model.arena.at(bucket.inputs[2].at.offset));
    for (size_t i = 0; i < phones.size(); ++i) {
      std::copy(phones[i].begin(), phones[i].end(), text + int64_t(i) * extent);
      lengths[i] = int32_t(phones[i].size());
    }
  }
};

test::ToyOptions oneBucket(int microBatch) {
  test::ToyOptions options;
  options.buckets = {{microBatch, 4}};
  options.threads = 1;
  return options;
}

TEST(Accumulation, EverySplitDividesByTheGlobalCount) {
  // Report 1: valid targets [4] and [2, 2, 2]; loss 7, gradient −5.
  std::vector<std::vector<Phones>> splits = {
      {{{4}, {2, 2, 2}}},           {{{4}}, {{2, 2, 2}}},
      {{{4}}, {{2}}, {{2}}, {{2}}}, {{{4}, {2}}, {{2}, {2}}},
      {{{4}, {2}, {2}, {2}}},
  };
  for (const auto &split : splits) {
    ToyRun run(oneBucket(4));
    run.update(split, {1, 1, 1e-3, 0});
    EXPECT_DOUBLE_EQ(run.result.losses[1], 7.0);
    EXPECT_FLOAT_EQ(run.data("grad:phone.mean")[0], -5.0f);
    EXPECT_FLOAT_EQ(float(run.result.gradNorm), 5.0f);
  }
}

TEST(Accumulation, EqualMicroBatchesAreDividedOnce) {
  // Report 2: 4 × [2, 2]; undivided −16, divided twice −1.
  ToyRun run(oneBucket(1));
  run.update({{{2, 2}}, {{2, 2}}, {{2, 2}}, {{2, 2}}}, {1, 1, 1e-3, 0});
  EXPECT_FLOAT_EQ(run.data("grad:phone.mean")[0], -4.0f);
}

TEST(Accumulation, NoDenominatorMeansNoGradient) {
  ToyRun run(oneBucket(2));
  run.update({{{}, {}}}, {1, 1, 1e-3, 0});
  EXPECT_TRUE(run.result.finite);
  EXPECT_EQ(run.result.loss, 0);
  EXPECT_EQ(run.data("grad:phone.mean")[0], 0);
}

TEST(Optimizer, AdamCountsUpdatesNotMicroBatches) {
  // Report 7: the first bias-corrected step is lr, whatever the accumulation.
  ToyRun run(oneBucket(1));
  run.update({{{1}}, {{1}}, {{1}}, {{1}}}, {1, 1, 1e-3, 0});
  EXPECT_NEAR(run.data("phone.mean")[0], 1e-3, 1e-8);
}

TEST(Optimizer, WeightDecayOncePerUpdate) {
  test::ToyOptions options = oneBucket(1);
  options.phoneInit = 1;
  ToyRun run(options);
  run.update({{{1}}, {{1}}, {{1}}, {{1}}}, {1, 1, 0.1, 0.1});
  EXPECT_NEAR(run.data("phone.mean")[0], 0.99, 1e-6); // gradient 0
}

TEST(Optimizer, EmaOncePerUpdate) {
  // Report 4: weight held at 1, decay 0.9, two updates of four: 0.19.
  test::ToyOptions options = oneBucket(1);
  options.phoneInit = 1;
  ToyRun run(options);
  run.data("ema:phone.mean")[0] = 0;
  for (int t = 1; t <= 2; ++t)
    run.update({{{1}}, {{1}}, {{1}}, {{1}}}, {1, t, 0.1, 0});
  EXPECT_NEAR(run.data("ema:phone.mean")[0], 0.19, 1e-6);
}

TEST(Optimizer, NonFiniteLossLeavesTheWeights) {
  ToyRun run(oneBucket(1));
  run.update({{{1}}}, {1, 1, 1e-3, 0});
  float before = run.data("phone.mean")[0];
  float moment = run.data("moment1:phone.mean")[0];
  run.data("proj.bias")[0] = NAN; // reaches no frame: mel is empty
  run.data("phone.mean")[0] = INFINITY;
  run.update({{{1}}}, {1, 2, 1e-3, 0});
  EXPECT_FALSE(run.result.finite);
  EXPECT_EQ(run.data("moment1:phone.mean")[0], moment);
  EXPECT_NE(run.data("phone.mean")[0], before);
}

TEST(Optimizer, NonFiniteGradientChangesNothing) {
  // Report 19: one poisoned element; weights, moments and EMA stay.
  ToyRun run(oneBucket(1));
  run.update({{{1}}}, {1, 1, 1e-3, 0});
  const char *names[] = {"proj.weight", "ema:proj.weight",
                         "moment1:proj.weight", "moment2:proj.weight"};
  std::vector<float> before;
  for (const char *name : names)
    before.insert(before.end(), run.data(name), run.data(name) + 4);
  run.poison = true;
  run.update({{{1}}}, {1, 2, 1e-3, 0});
  EXPECT_FALSE(run.result.finite);
  EXPECT_TRUE(std::isfinite(run.result.loss));
  // The poison is not in the second run: it finds nothing, and though its norm
  // is finite it must not go on to the weights.
  EXPECT_FALSE(run.found);
  EXPECT_EQ(run.model.executor.observed(), nullptr);
  std::vector<float> after;
  for (const char *name : names)
    after.insert(after.end(), run.data(name), run.data(name) + 4);
  EXPECT_EQ(before, after);
}

TEST(Arena, HighWaterIsThePlan) {
  ToyRun run(test::ToyOptions{});
  EXPECT_EQ(run.model.executor.highWater(), run.toy.arenaBytes);
}

TEST(Arena, AnAccessPastTheEndFaults) {
  Arena arena(1000);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(arena.at(0)) % 64, 0u);
  arena.at(0)[1023] = 1; // up to the alignment
  EXPECT_DEATH(arena.at(0)[1024] = 1, "");
}

TEST(Arena, TooLargeIsRefused) {
  try {
    Arena arena(uint64_t(1) << 50);
    FAIL();
  } catch (const Error &e) {
    EXPECT_EQ(e.code, Exit::Refused);
  }
}

/// Exits with the code of the refusal, its text on stderr.
void takeHalfAGigabyteUnderALimit() {
  rlimit limit;
  limit.rlim_cur = limit.rlim_max = 256 << 20;
  setrlimit(RLIMIT_AS, &limit);
  try {
    Arena arena(512 << 20);
  } catch (const Error &e) {
    std::fprintf(stderr, "%s", e.what());
    std::_Exit(int(e.code));
  }
  std::_Exit(0);
}

TEST(Arena, ALimitOnTheAddressSpaceIsRefused) {
  // In a child, since the limit cannot be taken back.
  EXPECT_EXIT(takeHalfAGigabyteUnderALimit(), testing::ExitedWithCode(7),
              "cannot be committed");
}

TEST(Initialize, ValuesDependOnSeedAndNameOnly) {
  ToyRun a(oneBucket(1)), b(oneBucket(4)), c(oneBucket(1));
  initializeParameters(c.model.manifest, c.model.arena, 2);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(a.data("proj.weight")[i], b.data("proj.weight")[i]);
    EXPECT_NE(a.data("proj.weight")[i], c.data("proj.weight")[i]);
    EXPECT_EQ(a.data("proj.weight")[i], a.data("ema:proj.weight")[i]);
  }
}

} // namespace
