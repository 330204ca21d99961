//===- SearchTest.cpp - choices from estimates, exact where it matters ---===//

#include "tts/Transforms/Plan/Search.h"

#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"
#include <map>
#include <random>

using namespace tts::plan;

namespace {

struct Case {
  std::vector<BucketEstimates> buckets;
  Search search;
  /// Of each choice, some per cent below or above the estimate.
  std::map<llvm::SmallVector<unsigned>, int64_t> exact;
  unsigned asked = 0;

  std::optional<int64_t> peakOf(const JointEstimate &j) {
    ++asked;
    return exact.at(j.choice);
  }
  const JointEstimate *pick(int64_t budget) {
    return search.pick(budget, [&](auto &j) { return peakOf(j); });
  }
  Search::Smallest smallest() {
    return search.findSmallest([&](auto &j) { return peakOf(j); });
  }
  int64_t boundOf(const JointEstimate &j) {
    return std::max(exact.at(j.choice), j.leastBytes);
  }
};

Case makeCase(std::mt19937 &random) {
  auto between = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  int64_t batch = between(1, 16), fixed = between(0, 10'000);
  std::vector<BucketEstimates> buckets(between(1, 4));
  for (BucketEstimates &bucket : buckets) {
    bucket.share = 1.0 / buckets.size();
    int64_t bytes = between(1'000, 5'000);
    for (int64_t microBatch = 1; microBatch <= batch; microBatch *= 2)
      for (unsigned rung = 0; rung < 4; ++rung) {
        Estimate e;
        e.microBatch = microBatch;
        e.rung = rung;
        e.transientBytes = bytes * microBatch / (1 + rung) + between(0, 500);
        e.microBatchSeconds =
            between(1, 10) + microBatch * (between(5, 10) + rung);
        e.batchBytes = {64 * microBatch};
        bucket.estimates.push_back(e);
      }
  }
  Case c{buckets, Search(batch, {fixed, between(0, 100)}, 3, buckets), {}};
  for (const JointEstimate &j : c.search.choices())
    c.exact[j.choice] =
        j.leastBytes + (j.peakBytes - j.leastBytes) * between(0, 250) / 100;
  return c;
}

TEST(Search, ChoicesAreAFrontFastestFirst) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 100; ++trial) {
    Case c = makeCase(random);
    auto choices = c.search.choices();
    ASSERT_FALSE(choices.empty());
    for (size_t i = 1; i < choices.size(); ++i) {
      EXPECT_LT(choices[i].peakBytes, choices[i - 1].peakBytes);
      EXPECT_GE(choices[i].stepSeconds, choices[i - 1].stepSeconds);
    }
  }
}

TEST(Search, NeverOverAndNoFasterChoiceFits) {
  std::mt19937 random(2);
  for (int trial = 0; trial < 300; ++trial) {
    Case c = makeCase(random);
    int64_t most = c.search.choices().front().peakBytes;
    int64_t budget = std::uniform_int_distribution<int64_t>(0, most)(random);
    const JointEstimate *picked = c.pick(budget);
    if (picked)
      EXPECT_LE(c.exact.at(picked->choice), budget);
    for (const JointEstimate &j : c.search.choices()) {
      if (&j == picked)
        break;
      EXPECT_GT(c.boundOf(j), budget);
    }
  }
}

TEST(Search, ALowerBudgetNeverRaisesThePeakNorTheSpeed) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 100; ++trial) {
    Case c = makeCase(random);
    int64_t budget = 2 * c.search.choices().front().peakBytes;
    int64_t lastPeak = budget;
    double lastSeconds = 0;
    while (const JointEstimate *picked = c.pick(budget)) {
      int64_t peak = c.exact.at(picked->choice);
      EXPECT_LE(peak, lastPeak);
      EXPECT_GE(picked->stepSeconds, lastSeconds);
      lastPeak = peak;
      lastSeconds = picked->stepSeconds;
      budget -= 1 + random() % 300;
    }
    EXPECT_LT(budget, c.smallest().budget);
  }
}

TEST(Search, TheSmallestBudgetWorksAndOneByteLessDoesNot) {
  std::mt19937 random(4);
  for (int trial = 0; trial < 200; ++trial) {
    Case c = makeCase(random);
    Search::Smallest smallest = c.smallest();
    ASSERT_NE(smallest.choice, nullptr);
    EXPECT_NE(c.pick(smallest.budget), nullptr);
    EXPECT_EQ(c.pick(smallest.budget - 1), nullptr);
    for (const JointEstimate &j : c.search.choices())
      EXPECT_GE(c.boundOf(j), smallest.budget);
  }
}

TEST(Search, FewChoicesAreMadeExact) {
  std::mt19937 random(5);
  unsigned asked = 0, choices = 0;
  for (int trial = 0; trial < 100; ++trial) {
    Case c = makeCase(random);
    int64_t most = c.search.choices().front().peakBytes;
    c.pick(std::uniform_int_distribution<int64_t>(0, most)(random));
    asked += c.asked;
    choices += c.search.choices().size();
  }
  EXPECT_LT(asked, choices / 2);
}

TEST(Search, MergedChoicesAreOneFrontAndKnowWhereTheyComeFrom) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<Search> parts = {makeCase(random).search,
                                 makeCase(random).search};
    Search all = Search::merge(parts);
    auto choices = all.choices();
    ASSERT_FALSE(choices.empty());
    int64_t least = choices.back().peakBytes;
    for (size_t i = 0; i < choices.size(); ++i) {
      const JointEstimate &j = choices[i];
      if (i > 0)
        EXPECT_LT(j.peakBytes, choices[i - 1].peakBytes);
      EXPECT_TRUE(llvm::any_of(parts[j.group].choices(), [&](auto &other) {
        return other.choice == j.choice && other.peakBytes == j.peakBytes;
      }));
    }
    for (const Search &part : parts)
      for (const JointEstimate &j : part.choices()) {
        EXPECT_GE(j.peakBytes, least);
        EXPECT_GE(j.stepSeconds, choices.front().stepSeconds);
      }
  }
}

TEST(Search, AFailureEndsIt) {
  std::mt19937 random(6);
  Case c = makeCase(random);
  unsigned asked = 0;
  auto fail = [&](const JointEstimate &) {
    ++asked;
    return std::optional<int64_t>();
  };
  EXPECT_EQ(c.search.pick(int64_t(1) << 40, fail), nullptr);
  EXPECT_EQ(c.search.findSmallest(fail).choice, nullptr);
  EXPECT_EQ(asked, 2u);
}

} // namespace
