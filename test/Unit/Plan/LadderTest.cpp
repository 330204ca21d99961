//===- LadderTest.cpp - properties of the planner's choice ---------------===//

#include "tts/Transforms/Plan/Ladder.h"

#include "gtest/gtest.h"
#include <cmath>
#include <random>

using namespace tts::plan;

namespace {

/// A made-up but plausible model: bytes grow with the micro-batch, time per
/// utterance falls, buckets differ.
Ladder makeLadder(std::mt19937 &random, int64_t batch) {
  auto between = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  LadderSettings settings;
  settings.batch = batch;
  settings.persistentBytes = between(0, 10'000);
  settings.overheadBytes = between(0, 1'000);
  settings.primitiveBytes = between(0, 100);
  settings.updateSeconds = between(1, 100);
  std::vector<BucketCandidates> buckets(between(1, 6));
  for (BucketCandidates &bucket : buckets) {
    bucket.share = 1.0 / buckets.size();
    int64_t bytes = between(100, 5'000), fixed = between(0, 3'000);
    for (int64_t rung : microBatchRungs(batch)) {
      Candidate c;
      c.microBatch = rung;
      // Not always monotone: packing and scratch are not.
      c.transientBytes = fixed + bytes * rung + between(0, 2'000);
      c.batchBytes = {64 * rung, between(1, 200) * rung};
      for (int64_t p = between(0, 5); p > 0; --p)
        c.primitives.push_back(between(0, 10));
      std::sort(c.primitives.begin(), c.primitives.end());
      c.primitives.erase(std::unique(c.primitives.begin(), c.primitives.end()),
                         c.primitives.end());
      c.microBatchSeconds = between(1, 10) + rung * between(5, 10);
      bucket.candidates.push_back(c);
    }
  }
  return Ladder(settings, buckets);
}

TEST(Ladder, RungsArePowersOfTwoAndTheBatch) {
  EXPECT_EQ(microBatchRungs(16), (llvm::SmallVector<int64_t>{1, 2, 4, 8, 16}));
  EXPECT_EQ(microBatchRungs(12), (llvm::SmallVector<int64_t>{1, 2, 4, 8, 12}));
  EXPECT_EQ(microBatchRungs(1), (llvm::SmallVector<int64_t>{1}));
  EXPECT_EQ(microBatchRungs(16, 3), (llvm::SmallVector<int64_t>{3}));
  EXPECT_EQ(microBatchRungs(16, 64), (llvm::SmallVector<int64_t>{16}));
}

TEST(Ladder, ExpectedMicroBatches) {
  EXPECT_DOUBLE_EQ(expectedMicroBatches(16, 1, 4), 4);
  EXPECT_DOUBLE_EQ(expectedMicroBatches(16, 1, 5), 4);
  EXPECT_DOUBLE_EQ(expectedMicroBatches(16, 0, 4), 0);
  EXPECT_NEAR(expectedMicroBatches(16, 0.25, 1), 4, 1e-9);
  // One micro-batch whenever anyone comes.
  EXPECT_NEAR(expectedMicroBatches(16, 0.25, 16), 1 - std::pow(0.75, 16), 1e-9);
}

TEST(Ladder, TheFrontRisesInBytesAndFallsInTime) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 200; ++trial) {
    Ladder ladder = makeLadder(random, 1 + trial % 40);
    auto front = ladder.front();
    ASSERT_FALSE(front.empty());
    for (size_t i = 1; i < front.size(); ++i) {
      EXPECT_GT(front[i].peakBytes(), front[i - 1].peakBytes());
      EXPECT_LT(front[i].stepSeconds, front[i - 1].stepSeconds);
    }
  }
}

TEST(Ladder, ALowerBudgetNeverRaisesThePeakNorIsItFaster) {
  std::mt19937 random(2);
  for (int trial = 0; trial < 200; ++trial) {
    Ladder ladder = makeLadder(random, 16);
    int64_t budget = ladder.front().back().peakBytes() + 1000;
    int64_t lastPeak = budget;
    double lastSeconds = 0;
    while (const JointChoice *choice = ladder.pick(budget)) {
      EXPECT_LE(choice->peakBytes(), budget);
      EXPECT_LE(choice->peakBytes(), lastPeak);
      EXPECT_GE(choice->stepSeconds, lastSeconds);
      lastPeak = choice->peakBytes();
      lastSeconds = choice->stepSeconds;
      budget -= 1 + random() % 500;
    }
    EXPECT_LT(budget, ladder.front().front().peakBytes());
  }
}

TEST(Ladder, TheSmallestFeasibleBudgetWorksAndOneByteLessDoesNot) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 200; ++trial) {
    Ladder ladder = makeLadder(random, 8);
    int64_t smallest = ladder.front().front().peakBytes();
    ASSERT_NE(ladder.pick(smallest), nullptr);
    EXPECT_EQ(ladder.pick(smallest)->peakBytes(), smallest);
    EXPECT_EQ(ladder.pick(smallest - 1), nullptr);
    for (const JointChoice &other : ladder.considered())
      EXPECT_GE(other.peakBytes(), smallest);
  }
}

TEST(Ladder, PeaksAreJoinedExactly) {
  LadderSettings settings;
  settings.batch = 4;
  settings.persistentBytes = 1000;
  settings.overheadBytes = 7;
  settings.primitiveBytes = 10;
  Candidate a;
  a.transientBytes = 300;
  a.batchBytes = {64, 128};
  a.primitives = {1, 2};
  a.microBatchSeconds = 1;
  Candidate b = a;
  b.transientBytes = 500;
  b.batchBytes = {128, 64};
  b.primitives = {2, 3};
  Ladder ladder(settings, {{0.5, {a}}, {0.5, {b}}});
  ASSERT_EQ(ladder.considered().size(), 1u);
  EXPECT_EQ(ladder.front()[0].arenaBytes, 1000 + 500 + 128 + 128);
  EXPECT_EQ(ladder.front()[0].overheadBytes, 7 + 3 * 10);
  EXPECT_NEAR(ladder.front()[0].stepSeconds, 4, 1e-9);
}

} // namespace
