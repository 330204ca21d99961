//===- StagesTest.cpp - a pipeline computes what one rank does -----------===//
//
// Ranks are threads; the toy over stages runs the same kernels on the same
// numbers however it is cut, so results are equal to the bit where the order of
// sums is.
//
//===----------------------------------------------------------------------===//

#include "Runtime/Abi/Error.h"
#include "Runtime/Train/Initialize.h"
#include "Runtime/Train/Update.h"
#include "ThreadTransport.h"
#include "ToyStages.h"
#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <mutex>

using namespace tts;
using namespace tts::rt;

namespace {

/// What a run of some updates ends with.
struct Ended {
  double loss = 0, gradNorm = 0;
  std::map<std::string, std::vector<float>> weights, averages;
};

struct Case {
  int stages, replicas, mostSlots = 99;
  bool sharesStash = false;
};

/// Fills a micro-batch's inputs as its number says.
void load(Model &model, uint32_t bucket, size_t number) {
  const Bucket &b = model.manifest.buckets[bucket];
  int64_t extent = b.extent("frames");
  for (const Tensor &input : b.inputs)
    for (int64_t i = 0; i < input.elements(); ++i) {
      char *to = model.arena.at(input.at.offset) + 4 * i;
      int64_t utterance = i * b.microBatch / input.elements();
      int32_t length = int32_t(extent - (int64_t(number) + utterance) % 3);
      if (input.name == "mel")
        *reinterpret_cast<float *>(to) =
            float(std::sin(double(i + 1) * double(number + 1)));
      else
        *reinterpret_cast<int32_t *>(to) =
            input.name == "phones" ? int32_t((i + int64_t(number)) % 5)
                                   : length;
    }
}

/// Micro-batches of all buckets; every replica has its own.
std::vector<uint32_t> bucketsOf(int replica, int replicas) {
  std::vector<uint32_t> all = {0, 2, 1, 1, 0, 2, 0, 1}, own;
  for (size_t i = size_t(replica); i < all.size(); i += size_t(replicas))
    own.push_back(all[i]);
  return own;
}

Ended runRank(const Case &c, std::unique_ptr<Transport> transport) {
  World world(std::move(transport), c.stages);
  test::ToyStagesOptions options;
  options.batch = 16;
  options.stages = c.stages;
  options.replicas = c.replicas;
  options.stage = world.stage();
  options.mostSlots = c.mostSlots;
  options.sharesStash = c.sharesStash;
  test::Toy toy = test::makeToyStage(options);
  Model model(toy.blob.data(), toy.blobBytes(), toy.kernels.data(),
              world.messages() ? &world : nullptr);
  initializeParameters(model.manifest, model.arena, 1);
  UpdateResult result(model);
  std::vector<uint32_t> buckets = bucketsOf(world.replica(), c.replicas);
  Ended ended;
  for (int64_t update = 1; update <= 3; ++update) {
    MicroBatches micro{buckets.data(), buckets.size(),
                       [&](size_t i) {
                         size_t number =
                             i * size_t(c.replicas) + size_t(world.replica());
                         load(model, buckets[i], number + size_t(update));
                       },
                       nullptr};
    runUpdate(model, micro, {1, update, 0.05, 0.01}, result);
    EXPECT_TRUE(result.finite);
  }
  ended.loss = result.loss;
  ended.gradNorm = result.gradNorm;
  for (const Parameter &p : model.manifest.parameters)
    if (!p.isElsewhere)
      for (auto [slice, values] :
           {std::pair(p.value.at, &ended.weights), {p.ema, &ended.averages}}) {
        const float *data =
            reinterpret_cast<const float *>(model.arena.at(slice.offset));
        (*values)[p.value.name].assign(data, data + p.value.elements());
      }
  return ended;
}

/// All ranks' results; each parameter is some stage's.
Ended run(const Case &c) {
  if (c.stages * c.replicas == 1)
    return runRank(c, nullptr);
  Ended all;
  std::mutex mutex;
  onRanks(c.stages * c.replicas,
          [&](int rank, std::unique_ptr<Transport> transport) {
            Ended own = runRank(c, std::move(transport));
            std::lock_guard<std::mutex> lock(mutex);
            EXPECT_EQ(own.loss, all.loss ? all.loss : own.loss) << rank;
            all.loss = own.loss;
            all.gradNorm = own.gradNorm;
            for (auto &[name, values] : own.weights) {
              auto known = all.weights.emplace(name, values);
              EXPECT_EQ(known.first->second, values) << name;
            }
            for (auto &[name, values] : own.averages)
              all.averages.emplace(name, values);
          });
  return all;
}

void expectNear(const Ended &a, const Ended &b, double relative) {
  EXPECT_NEAR(a.loss, b.loss, relative * std::abs(a.loss));
  EXPECT_NEAR(a.gradNorm, b.gradNorm, relative * a.gradNorm);
  ASSERT_EQ(a.weights.size(), b.weights.size());
  for (auto [one, other] :
       {std::pair(&a.weights, &b.weights), {&a.averages, &b.averages}})
    for (auto &[name, values] : *one)
      for (size_t i = 0; i < values.size(); ++i)
        EXPECT_NEAR(values[i], other->at(name)[i], relative) << name;
}

class EveryPipeline : public testing::TestWithParam<Case> {};

TEST_P(EveryPipeline, ComputesWhatOneRankDoes) {
  Ended alone = run({1, 1});
  ASSERT_EQ(alone.weights.size(), 9u);
  Ended piped = run(GetParam());
  if (GetParam().replicas > 1)
    return expectNear(alone, piped, 1e-5);
  // One replica adds in the order of one rank.
  EXPECT_EQ(alone.loss, piped.loss);
  EXPECT_EQ(alone.gradNorm, piped.gradNorm);
  EXPECT_EQ(alone.weights, piped.weights);
  EXPECT_EQ(alone.averages, piped.averages);
}

INSTANTIATE_TEST_SUITE_P(Stages, EveryPipeline,
                         testing::Values(Case{2, 1}, Case{4, 1}, Case{2, 2},
                                         Case{1, 2}, Case{4, 1, 2},
                                         Case{4, 2, 3}, Case{2, 1, 1}));

TEST(Stages, OneStashForAllSlotsIsSeen) {
  Ended alone = run({1, 1});
  EXPECT_NE(alone.weights, run({2, 1, 99, true}).weights);
}

TEST(Stages, EveryStageHasItsSlots) {
  // A micro-batch waits on each stage but the last.
  for (int stage = 0; stage < 4; ++stage) {
    test::ToyStagesOptions options;
    options.stages = 4;
    options.stage = stage;
    test::Toy toy = test::makeToyStage(options);
    Table table(toy.blob.data(), toy.blobBytes());
    Manifest manifest(table.manifest(), table.arenaBytes(), stage);
    EXPECT_EQ(manifest.stages.slots, 4 - stage);
    size_t owned = 0;
    for (const Parameter &p : manifest.parameters) {
      owned += manifest.owns(p);
      EXPECT_EQ(manifest.owns(p), !p.isElsewhere) << p.value.name;
    }
    EXPECT_EQ(owned, stage ? 2u : 3u);
  }
}

/// Stages that would take other micro-batches, or wait for ones that are never
/// begun, end before they wait.
TEST(Stages, TablesOfSeveralPlansAreRefused) {
  for (bool slots : {false, true})
    onRanks(2, [&](int rank, std::unique_ptr<Transport> transport) {
      World world(std::move(transport), 2);
      test::ToyStagesOptions options;
      options.stages = 2;
      options.stage = rank;
      if (rank && !slots)
        options.buckets[1].microBatch = 1;
      test::Toy toy = test::makeToyStage(options);
      if (slots) { // 1 and 2 instead of 2 and 1
        std::string blob(reinterpret_cast<char *>(toy.blob.data()),
                         toy.blobBytes());
        size_t at = blob.find("\"slots\":") + 8;
        blob[at] = rank ? '2' : '1';
        std::memcpy(toy.blob.data(), blob.data(), blob.size());
      }
      EXPECT_THROW(
          Model(toy.blob.data(), toy.blobBytes(), toy.kernels.data(), &world),
          Error);
    });
}

/// A table that is not this rank's, or speaks to nobody, ends before it runs.
TEST(Stages, AForeignTableIsRefused) {
  test::ToyStagesOptions options;
  options.stages = 2;
  test::Toy toy = test::makeToyStage(options);
  EXPECT_THROW(Model(toy.blob.data(), toy.blobBytes(), toy.kernels.data()),
               Error);
  onRanks(2, [&](int rank, std::unique_ptr<Transport> transport) {
    World world(std::move(transport), /*stages=*/rank ? 2 : 1);
    EXPECT_THROW(
        Model(toy.blob.data(), toy.blobBytes(), toy.kernels.data(), &world),
        Error);
  });
}

} // namespace
