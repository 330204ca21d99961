//===- InitializeTest.cpp - first values, bit for bit ---------------------===//

#include "Runtime/Train/Initialize.h"
#include "Runtime/Train/Model.h"
#include "Runtime/Train/Random.h"
#include "ToyModel.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace tts;
using namespace tts::rt;

namespace {

Parameter makeParameter(const std::string &name, TtsDType dtype,
                        std::vector<int64_t> shape, const std::string &kind,
                        std::vector<double> args, uint64_t offset) {
  Parameter p;
  p.value.name = name;
  p.value.dtype = dtype;
  p.value.shape = std::move(shape);
  p.value.at.offset = offset;
  p.init.kind = kind;
  p.init.args = std::move(args);
  p.value.at.size = uint64_t(p.value.elements()) * (dtype == TTS_F64 ? 8 : 4);
  return p;
}

/// Element `i` on its own, as the definition reads.
double drawOne(const Parameter &p, uint64_t seed, uint64_t i) {
  uint64_t key = hashKey(seed, p.value.name);
  Philox4 words = philox(i / 4, key);
  const std::vector<double> &args = p.init.args;
  if (p.init.kind == "normal") {
    unsigned pair = i % 4 / 2 * 2;
    double radius = std::sqrt(-2 * std::log(toUniform(words[pair])));
    double angle = 2 * M_PI * toUniform(words[pair + 1]);
    return args[0] * radius * (i % 2 ? std::sin(angle) : std::cos(angle));
  }
  if (p.init.kind == "uniform")
    return args[0] + (args[1] - args[0]) * toUniform(words[i % 4]);
  if (p.init.kind == "linspace")
    return args[0] +
           (args[1] - args[0]) * double(i) / double(p.value.elements() - 1);
  return args[0];
}

class Initialize : public testing::TestWithParam<int> {};

TEST_P(Initialize, AShardIsItsPartOfTheWhole) {
  test::Toy toy = test::makeToy({});
  Model model(toy.blob.data(), toy.blobBytes(), toy.kernels.data());
  Manifest manifest = model.manifest;
  manifest.threads = GetParam();
  manifest.ranks = 3;
  Parameter p = makeParameter("a", TTS_F32, {9001}, "normal", {0.02}, 0);
  p.value.at.isShard = p.ema.isShard = true;
  uint64_t most = shardElements(9001, manifest.ranks);
  p.value.at.size = most * 4;
  p.ema = {1 << 15, most * 4, true};
  manifest.parameters = {p};
  for (manifest.rank = 0; manifest.rank < manifest.ranks; ++manifest.rank) {
    Part part = manifest.partOf(p, p.value.at);
    Arena arena(2 << 15);
    initializeParameters(manifest, arena, 7);
    for (uint64_t offset : {p.value.at.offset, p.ema.offset}) {
      const float *data = reinterpret_cast<const float *>(arena.at(offset));
      for (uint64_t i = 0; i <= most; ++i)
        ASSERT_EQ(data[i],
                  i < part.count ? float(drawOne(p, 7, part.first + i)) : 0)
            << manifest.rank << "[" << i << "]";
    }
  }
}

/// ZeRO-1: the parameter is whole, its average is not.
TEST(InitializeOnce, AnAverageStartsAtItsPartOfTheWeights) {
  test::Toy toy = test::makeToy({});
  Model model(toy.blob.data(), toy.blobBytes(), toy.kernels.data());
  Manifest manifest = model.manifest;
  manifest.ranks = 2;
  manifest.rank = 1;
  Parameter p = makeParameter("a", TTS_F32, {7}, "linspace", {0, 6}, 0);
  p.ema = {64, 16, true};
  manifest.parameters = {p};
  Arena arena(256);
  initializeParameters(manifest, arena, 7);
  const float *average = reinterpret_cast<const float *>(arena.at(64));
  const float expected[] = {4, 5, 6, 0};
  EXPECT_EQ(std::memcmp(average, expected, sizeof(expected)), 0);
}

TEST_P(Initialize, BitsAreThoseOfElementsDrawnOneByOne) {
  test::Toy toy = test::makeToy({});
  Model model(toy.blob.data(), toy.blobBytes(), toy.kernels.data());
  Manifest manifest = model.manifest;
  manifest.threads = GetParam();
  manifest.parameters = {
      makeParameter("a", TTS_F32, {9001}, "normal", {0.02}, 0),
      makeParameter("b", TTS_F32, {70, 30, 5}, "uniform", {-0.3, 0.4}, 1 << 16),
      makeParameter("c", TTS_F64, {1030}, "normal", {1}, 2 << 16),
      makeParameter("d", TTS_F32, {2500}, "linspace", {-4, 4}, 3 << 16),
      makeParameter("e", TTS_F32, {3}, "constant", {0.1}, 4 << 16)};
  Arena arena(5 << 16);
  initializeParameters(manifest, arena, 7);
  for (const Parameter &p : manifest.parameters) {
    const char *data = arena.at(p.value.at.offset);
    for (int64_t i = 0; i < p.value.elements(); ++i) {
      double expected = drawOne(p, 7, uint64_t(i));
      if (p.value.dtype == TTS_F64) {
        ASSERT_EQ(reinterpret_cast<const double *>(data)[i], expected)
            << p.value.name << "[" << i << "]";
        continue;
      }
      ASSERT_EQ(reinterpret_cast<const float *>(data)[i], float(expected))
          << p.value.name << "[" << i << "]";
    }
    // The last element is the last thing written.
    EXPECT_EQ(data[p.value.at.size], 0) << p.value.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, Initialize, testing::Values(1, 3));

TEST(Model, BeginsWithZerosThoughPrimitivesHaveRun) {
  test::Toy toy = test::makeToy({});
  Model model(toy.blob.data(), toy.blobBytes(), toy.kernels.data());
  for (uint64_t i = 0; i < model.arena.size(); ++i)
    ASSERT_EQ(*model.arena.at(i), 0) << "byte " << i;
}

} // namespace
