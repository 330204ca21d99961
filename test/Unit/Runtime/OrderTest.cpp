//===- OrderTest.cpp - the order of training and its cut -----------------===//
//
// Report 13: the multiset of ids of one epoch is the input, for every number of
// buckets; no utterance is dropped, none repeated.
//
//===----------------------------------------------------------------------===//

#include "Runtime/IO/Order.h"
#include "Runtime/IO/Batches.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>
#include <set>

using namespace tts::rt;

namespace {

/// 1000 utterances over 64 shards of unequal sizes, two of them empty.
std::vector<uint32_t> shardSizes() {
  std::vector<uint32_t> sizes(64, 16);
  sizes[3] = sizes[40] = 0;
  sizes[0] = 16 + 8;
  return sizes; // 62 × 16 + 8 = 1000
}

std::vector<uint32_t> takeEpoch(Order &order, size_t n) {
  std::vector<uint32_t> ids(n);
  order.take(ids.data(), n);
  return ids;
}

TEST(Order, AnEpochIsAPermutation) {
  Order order(shardSizes(), 0, 7);
  for (int epoch = 0; epoch < 3; ++epoch) {
    std::vector<uint32_t> ids = takeEpoch(order, 1000);
    std::sort(ids.begin(), ids.end());
    for (uint32_t i = 0; i < 1000; ++i)
      ASSERT_EQ(ids[i], i);
  }
}

TEST(Order, SeedAndEpochChangeIt) {
  Order a(shardSizes(), 0, 7), b(shardSizes(), 0, 7), c(shardSizes(), 0, 8);
  std::vector<uint32_t> first = takeEpoch(a, 1000);
  EXPECT_EQ(first, takeEpoch(b, 1000));
  EXPECT_NE(first, takeEpoch(c, 1000));
  EXPECT_NE(first, takeEpoch(a, 1000)); // the next epoch
}

TEST(Order, ShardsAreVisitedRoundRobin) {
  Order order(shardSizes(), 0, 7);
  std::vector<uint32_t> ids = takeEpoch(order, 62);
  std::set<uint32_t> shards;
  std::vector<uint32_t> sizes = shardSizes();
  for (uint32_t id : ids) {
    uint32_t s = 0;
    while (id >= sizes[s])
      id -= sizes[s++];
    shards.insert(s);
  }
  EXPECT_EQ(shards.size(), 62u); // one from each that has any
}

TEST(Order, SeekIsWhereTakingWouldBe) {
  // Report 21: the sampler's position, also inside an epoch and past it.
  Order unbroken(shardSizes(), 0, 7);
  takeEpoch(unbroken, 1337);
  Order resumed(shardSizes(), 0, 7);
  resumed.seek(unbroken.position());
  EXPECT_EQ(unbroken.position().epoch, 1u);
  EXPECT_EQ(unbroken.position().taken, 337u);
  EXPECT_EQ(takeEpoch(unbroken, 800), takeEpoch(resumed, 800));
}

TEST(Order, RanksShareEveryStretchEvenly) {
  // 64 shards of 16: while they last, a rank's share of an update differs from
  // another's by at most one, over the end of an epoch, too.
  std::vector<uint32_t> even(64, 16);
  for (uint32_t ranks : {2u, 4u, 8u}) {
    Order order(even, 5, 3);
    for (int update = 0; update < 200; ++update) {
      std::vector<int> counts(ranks);
      for (uint32_t u : takeEpoch(order, 22))
        for (uint32_t r = 0; r < ranks; ++r)
          counts[r] += order.isIn({r, ranks}, u);
      auto [least, most] = std::minmax_element(counts.begin(), counts.end());
      EXPECT_LE(*most - *least, 1) << ranks << " ranks, update " << update;
    }
  }
}

TEST(Order, EveryUtteranceIsOneRanks) {
  Order order(shardSizes(), 10, 7);
  std::vector<int> shares(3);
  for (uint32_t u = 10; u < 1010; ++u) {
    int owners = 0;
    for (uint32_t r = 0; r < 3; ++r)
      if (order.isIn({r, 3}, u)) {
        ++owners;
        ++shares[r];
      }
    ASSERT_EQ(owners, 1) << u;
  }
  for (int share : shares)
    EXPECT_GT(share, 200);
}

TEST(Order, SmallerThanABatch) {
  Order order({2, 1}, 10, 1);
  std::vector<uint32_t> ids = takeEpoch(order, 7);
  EXPECT_EQ(std::count(ids.begin(), ids.begin() + 6, 11u), 2);
  EXPECT_EQ(order.position().epoch, 2u);
}

/// Buckets of equal steps over lengths 1..1000, micro-batches falling.
std::vector<BucketShape> makeBuckets(uint32_t count) {
  std::vector<BucketShape> buckets;
  for (uint32_t b = 0; b < count; ++b) {
    uint32_t micro = std::max(1u, 8 - 8 * b / count);
    buckets.push_back({micro, double(micro * (b + 1)), b > 0});
  }
  return buckets;
}

/// Utterance u has length u + 1.
std::vector<uint8_t> bucketsOfLengths(uint32_t count) {
  std::vector<uint8_t> bucketOf(1000);
  for (uint32_t u = 0; u < 1000; ++u)
    bucketOf[u] = uint8_t(u * count / 1000);
  return bucketOf;
}

/// Calls see(ids, order) for each update of 16 of an epoch.
template <typename See> void forEachUpdate(See see) {
  Order order(shardSizes(), 0, 3);
  for (size_t taken = 0; taken < 1000; taken += 16)
    see(takeEpoch(order, std::min<size_t>(16, 1000 - taken)), order);
}

class EveryBucketCount : public testing::TestWithParam<uint32_t> {};

TEST_P(EveryBucketCount, AnEpochHoldsEachIdOnceInABucketThatFits) {
  uint32_t count = GetParam();
  std::vector<uint8_t> bucketOf = bucketsOfLengths(count);
  Batches batches(makeBuckets(count), 16);
  std::vector<int> seen(1000);
  std::vector<MicroBatch> micro;
  forEachUpdate([&](std::vector<uint32_t> ids, const Order &) {
    std::multiset<uint32_t> before(ids.begin(), ids.end());
    micro.clear();
    batches.cut(ids.data(), ids.size(), bucketOf.data(), micro);
    ASSERT_EQ(before, std::multiset<uint32_t>(ids.begin(), ids.end()));
    uint32_t next = 0;
    for (const MicroBatch &m : micro) {
      ASSERT_EQ(m.first, next);
      ASSERT_GE(m.count, 1u);
      ASSERT_LE(m.count, makeBuckets(count)[m.bucket].microBatch);
      for (uint32_t i = 0; i < m.count; ++i) {
        ASSERT_GE(m.bucket, bucketOf[ids[m.first + i]]);
        ++seen[ids[m.first + i]];
      }
      next += m.count;
    }
    ASSERT_EQ(next, ids.size());
  });
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), 1000);
}

/// The same over ranks that each cut their own part of every update.
TEST_P(EveryBucketCount, RanksTogetherTakeEachIdOnce) {
  uint32_t count = GetParam();
  std::vector<uint8_t> bucketOf = bucketsOfLengths(count);
  for (uint32_t ranks : {1u, 2u, 3u, 4u}) {
    Batches batches(makeBuckets(count), 16);
    std::vector<int> seen(1000);
    std::vector<MicroBatch> micro;
    forEachUpdate([&](const std::vector<uint32_t> &ids, const Order &order) {
      for (uint32_t rank = 0; rank < ranks; ++rank) {
        std::vector<uint32_t> own;
        for (uint32_t u : ids)
          if (order.isIn({rank, ranks}, u))
            own.push_back(u);
        micro.clear();
        batches.cut(own.data(), own.size(), bucketOf.data(), micro);
        for (const MicroBatch &m : micro)
          for (uint32_t i = 0; i < m.count; ++i)
            ++seen[own[m.first + i]];
      }
    });
    EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), 1000) << ranks;
  }
}

INSTANTIATE_TEST_SUITE_P(Report13, EveryBucketCount,
                         testing::Values(1, 2, 3, 5, 8, 20, 100, 250));

TEST(Batches, MovesUpOnlyWhenCheaper) {
  // One left over of bucket 0; bucket 1 has a free slot.
  std::vector<uint8_t> bucketOf = {0, 0, 0, 1};
  std::vector<uint32_t> ids = {3, 0, 1, 2};
  std::vector<MicroBatch> micro;
  Batches cheap({{2, 10, false}, {2, 20, true}}, 4);
  cheap.cut(ids.data(), 4, bucketOf.data(), micro);
  ASSERT_EQ(micro.size(), 2u);
  EXPECT_EQ(micro[1].bucket, 1u);
  EXPECT_EQ(micro[1].count, 2u);
  EXPECT_EQ(ids[2], 2u); // the last of bucket 0 went up
  // Where bucket 1 does not hold what bucket 0 holds, nothing moves.
  Batches apart({{2, 10, false}, {2, 20, false}}, 4);
  micro.clear();
  apart.cut(ids.data(), 4, bucketOf.data(), micro);
  EXPECT_EQ(micro.size(), 3u);
  // Three buckets of one utterance each: one micro-batch of the longest.
  std::vector<uint8_t> each = {0, 1, 2};
  std::vector<uint32_t> three = {2, 1, 0};
  Batches chain({{4, 10, false}, {4, 20, true}, {4, 25, true}}, 4);
  micro.clear();
  chain.cut(three.data(), 3, each.data(), micro);
  ASSERT_EQ(micro.size(), 1u);
  EXPECT_EQ(micro[0].bucket, 2u);
}

} // namespace
