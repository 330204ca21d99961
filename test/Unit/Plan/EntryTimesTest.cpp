//===- EntryTimesTest.cpp - how long an entry takes ----------------------===//

#include "tts/Transforms/Plan/EntryTimes.h"

#include "gtest/gtest.h"

using namespace tts::plan;

namespace {

Hardware machine() {
  Hardware h;
  h.fp32.peak = 100;
  h.bf16.peak = 400;
  h.bandwidth.peak = 10;
  h.entrySeconds = 0.5;
  h.callSeconds = 0.25;
  return h;
}

Work product(const char *precision, int64_t m, int64_t n, int64_t k,
             int64_t calls = 1) {
  Work work;
  work.product = ProductShape{precision, false, false, false, m, n, k, 0};
  work.calls = calls;
  return work;
}

void measured(Hardware &h, const char *precision, int64_t m, int64_t n,
              int64_t k, double flops, int64_t taps = 0) {
  h.products.push_back(
      {{precision, false, false, false, m, n, k, taps}, flops});
}

TEST(EntryTimes, UnmeasuredProductsTakeFlopsOrTraffic) {
  Hardware h = machine();
  EntryTimes times(h, 1);
  Work work = product("fp32", 10, 10, 10, 2); // 4,000 operations
  EXPECT_DOUBLE_EQ(times.seconds(work), 0.5 + 2 * 0.25 + 40);
  work.touches = {{500}};
  EXPECT_DOUBLE_EQ(times.seconds(work), 0.5 + 2 * 0.25 + 50);
  // The precision is that of the factors.
  EXPECT_DOUBLE_EQ(times.seconds(product("bf16", 10, 10, 10)), 0.5 + 0.25 + 5);
}

TEST(EntryTimes, AMeasuredShapeTakesWhatWasMeasured) {
  Hardware h = machine();
  measured(h, "fp32", 10, 10, 10, 50);
  measured(h, "fp32", 1000, 10, 10, 25);
  measured(h, "bf16", 10, 10, 10, 5);
  EntryTimes times(h, 1);
  EXPECT_NEAR(times.seconds(product("fp32", 10, 10, 10)), 0.5 + 2000 / 50.0,
              1e-3);
  EXPECT_NEAR(times.seconds(product("fp32", 1000, 10, 10)), 0.5 + 200000 / 25.0,
              1);
  double rate = *times.rateNear({"fp32", false, false, false, 100, 10, 10, 0});
  // Beyond a few dozen rows one more doubling changes little.
  EXPECT_GT(rate, 25);
  EXPECT_LT(rate, 30);
}

TEST(EntryTimes, ConvolutionsAreNoneOfTheProducts) {
  Hardware h = machine();
  measured(h, "fp32", 10, 10, 10, 50);
  EntryTimes times(h, 1);
  ProductShape conv{"fp32", false, false, false, 10, 10, 10, 3};
  EXPECT_FALSE(times.rateNear(conv));
  measured(h, "fp32", 10, 10, 10, 80, /*taps=*/3);
  EntryTimes more(h, 1);
  EXPECT_NEAR(*more.rateNear(conv), 80, 1e-9);
  EXPECT_DOUBLE_EQ(conv.flops(), 6000);
  EXPECT_FALSE(more.rateNear({"fp64", false, false, false, 10, 10, 10, 0}));
}

TEST(EntryTimes, LikeShapesAreNearer) {
  ProductShape narrow{"fp32", false, false, false, 800, 12, 12, 0};
  ProductShape twice = narrow, narrower = narrow, transposed = narrow,
               sums = narrow;
  twice.m = 1600;
  narrower.n = narrower.k = 8;
  transposed.transposeB = true;
  sums.accumulates = true;
  EXPECT_EQ(narrow.distance(narrow), 0);
  EXPECT_DOUBLE_EQ(narrow.distance(narrower), narrower.distance(narrow));
  // A doubling of many rows is less than a third of few columns.
  EXPECT_GT(narrow.distance(twice), 0);
  EXPECT_LT(narrow.distance(twice), narrow.distance(narrower));
  EXPECT_LT(narrow.distance(sums), narrow.distance(transposed));
}

TEST(EntryTimes, AByteComesFromTheCacheThatHoldsIt) {
  Hardware h = machine();
  h.caches = {{100, 1000}, {1000, 100}};
  EntryTimes times(h, 1);
  Work work;
  work.touches = {{2000, 99}, {2000, 100}, {2000, 1000}, {2000}};
  EXPECT_DOUBLE_EQ(times.seconds(work), 0.5 + 2 + 20 + 200 + 200);
  EXPECT_DOUBLE_EQ(EntryTimes(h, 2).seconds(work), 0.5 + 211);
}

TEST(EntryTimes, OperationsCountBesideTraffic) {
  Hardware h = machine();
  h.operationSeconds = {{"tts.exp", 2}, {"tts.log", 3}, {"tts.log.f64", 50}};
  Work work;
  work.touches = {{10}};
  work.operations = {{"tts.exp", 5}, {"tts.add", 1000}};
  EXPECT_DOUBLE_EQ(EntryTimes(h, 1).seconds(work), 0.5 + 1 + 10);
  EXPECT_DOUBLE_EQ(EntryTimes(h, 2).seconds(work), 0.5 + 0.5 + 5);
  // On doubles as measured, else twice.
  work.operations = {{"tts.exp.f64", 5}, {"tts.log.f64", 1}};
  EXPECT_DOUBLE_EQ(EntryTimes(h, 1).seconds(work), 0.5 + 1 + 20 + 50);
}

TEST(EntryTimes, AGpuHasNoThreads) {
  Hardware h = machine();
  h.isGpu = true;
  Work work;
  work.touches = {{10}};
  EXPECT_DOUBLE_EQ(EntryTimes(h, 8).seconds(work), 0.5 + 1);
}

} // namespace
