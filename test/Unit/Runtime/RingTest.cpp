//===- RingTest.cpp - sums over ranks that are threads --------------------===//

#include "Runtime/Collectives/Ring.h"
#include "Runtime/Abi/Error.h"
#include "Runtime/Collectives/ShardedRing.h"
#include "ThreadTransport.h"
#include <gtest/gtest.h>

using namespace tts::rt;

namespace {

/// Arrays of these lengths; element i of rank r is (i + 1) · (r + 1).
template <typename T>
std::vector<std::vector<T>> makeArrays(const std::vector<int> &lengths,
                                       int rank) {
  std::vector<std::vector<T>> arrays;
  int i = 0;
  for (int length : lengths) {
    auto &array = arrays.emplace_back(length);
    for (T &value : array)
      value = T(++i * (rank + 1));
  }
  return arrays;
}

template <typename T>
std::vector<Pieces::Piece> piecesOf(std::vector<std::vector<T>> &arrays) {
  std::vector<Pieces::Piece> pieces;
  for (auto &array : arrays)
    pieces.push_back({array.data(), array.size()});
  return pieces;
}

struct RingCase {
  int ranks;
  std::vector<int> lengths;
  uint64_t stagingBytes;
};

class EveryRing : public testing::TestWithParam<RingCase> {};

template <typename T> void checkSums(const RingCase &c, TtsDType dtype) {
  std::vector<uint64_t> sent(size_t(c.ranks));
  onRanks(c.ranks, [&](int rank, std::unique_ptr<Transport> transport) {
    auto arrays = makeArrays<T>(c.lengths, rank);
    std::vector<char> staging(c.stagingBytes);
    Ring ring(*transport, Pieces(piecesOf(arrays), dtype), staging.data(),
              staging.size());
    ring.allReduce();
    int i = 0;
    for (auto &array : arrays)
      for (T value : array)
        EXPECT_EQ(value, T(++i * c.ranks * (c.ranks + 1) / 2));
    sent[size_t(rank)] = transport->bytesSent();
  });
  // 2 (N-1)/N of the bytes on average, exactly where the chunks are equal.
  uint64_t elements = 0, all = 0;
  for (int length : c.lengths)
    elements += uint64_t(length);
  for (uint64_t bytes : sent)
    all += bytes;
  EXPECT_EQ(all, 2 * uint64_t(c.ranks - 1) * elements * sizeof(T));
  if (elements % uint64_t(c.ranks) == 0) {
    for (uint64_t bytes : sent)
      EXPECT_EQ(bytes, all / uint64_t(c.ranks));
  }
}

TEST_P(EveryRing, EveryElementIsItsSum) {
  checkSums<float>(GetParam(), TTS_F32);
  checkSums<double>(GetParam(), TTS_F64);
}

INSTANTIATE_TEST_SUITE_P(
    Ring, EveryRing,
    testing::Values(RingCase{2, {8}, 1 << 12}, RingCase{2, {1}, 64},
                    RingCase{3, {5, 1, 30, 64}, 64}, RingCase{4, {1, 2}, 64},
                    RingCase{4, {1000, 3, 1, 97}, 256},
                    RingCase{7, {13, 500}, 4096}, RingCase{5, {0, 40}, 32},
                    RingCase{8, {3, 1000}, 512}, RingCase{8, {5}, 64}));

/// Shards beside the arrays, at their fronts, and added to what is there.
template <typename T> void checkShards(const RingCase &c, TtsDType dtype) {
  std::vector<uint64_t> sent(size_t(c.ranks));
  onRanks(c.ranks, [&](int rank, std::unique_ptr<Transport> transport) {
    auto arrays = makeArrays<T>(c.lengths, rank), again = arrays;
    std::vector<std::vector<T>> shards;
    std::vector<ShardedRing::Array> beside, inFront;
    for (size_t i = 0; i < arrays.size(); ++i) {
      uint64_t n = arrays[i].size();
      shards.emplace_back(shardElements(n, c.ranks) + 1, T(7));
      beside.push_back({reinterpret_cast<char *>(arrays[i].data()),
                        reinterpret_cast<char *>(shards.back().data()), n});
      inFront.push_back(
          {reinterpret_cast<char *>(again[i].data()), nullptr, n});
    }
    std::vector<char> staging(c.stagingBytes);
    ShardedRing ring(*transport, beside, dtype, staging.data(), staging.size());
    ShardedRing front(*transport, inFront, dtype, staging.data(),
                      staging.size());
    ring.reduceScatter(/*adds=*/true);
    front.reduceScatter(/*adds=*/false);
    uint64_t scattered = transport->bytesSent();
    T sum = T(c.ranks) * T(c.ranks + 1) / 2, before = 0;
    for (size_t i = 0; i < arrays.size(); ++i) {
      uint64_t n = arrays[i].size();
      Part own = shardOf(n, rank, c.ranks);
      for (uint64_t k = 0; k < shards[i].size(); ++k) {
        T value = k < own.count ? (before + T(own.first + k + 1)) * sum : 0;
        EXPECT_EQ(shards[i][k], value + 7);
        if (k + 1 < shards[i].size()) {
          EXPECT_EQ(again[i][k], value) << "in front, padding and all";
        }
      }
      before += T(n);
    }
    ring.allGather();
    before = 0;
    for (auto &array : arrays) {
      for (size_t k = 0; k < array.size(); ++k)
        EXPECT_EQ(array[k], (before + T(k + 1)) * sum + 7);
      before += T(array.size());
    }
    sent[size_t(rank)] = scattered + 2 * (transport->bytesSent() - scattered);
  });
  // (N-1)/N of the bytes in each of the four, padding apart.
  uint64_t elements = 0, all = 0;
  for (int length : c.lengths)
    elements += uint64_t(length);
  for (uint64_t bytes : sent)
    all += bytes;
  EXPECT_EQ(all, 4 * uint64_t(c.ranks - 1) * elements * sizeof(T));
}

TEST_P(EveryRing, EveryRankEndsWithItsShards) {
  checkShards<float>(GetParam(), TTS_F32);
  checkShards<double>(GetParam(), TTS_F64);
}

TEST(Shard, EveryElementIsOneRanks) {
  for (int ranks : {2, 3, 7})
    for (uint64_t n : {0, 1, 2, 6, 7, 8, 100}) {
      uint64_t next = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        Part part = shardOf(n, rank, ranks);
        EXPECT_EQ(part.first, next);
        EXPECT_LE(part.count, shardElements(n, ranks));
        next += part.count;
      }
      EXPECT_EQ(next, n);
    }
}

TEST(Ring, AllRanksEndWithTheSameBits) {
  // Sums that rounding makes depend on their order.
  std::vector<std::vector<float>> results(4);
  onRanks(4, [&](int rank, std::unique_ptr<Transport> transport) {
    std::vector<std::vector<float>> arrays(1);
    for (int i = 0; i < 103; ++i)
      arrays[0].push_back(1.0f / float(1 + i + 31 * rank));
    char staging[128];
    Ring(*transport, Pieces(piecesOf(arrays), TTS_F32), staging,
         sizeof(staging))
        .allReduce();
    results[size_t(rank)] = arrays[0];
  });
  for (int rank = 1; rank < 4; ++rank)
    EXPECT_EQ(results[0], results[size_t(rank)]);
}

/// Element i of the vector of part p: sums of these are rounded.
float elementOf(int i, int part) { return 1.0f / float(1 + i + 31 * part); }

/// All ranks' results, of which rank r starts with rows[r].
std::vector<std::vector<float>>
reduce(const std::vector<std::vector<float>> &rows) {
  std::vector<std::vector<float>> results(rows.size());
  onRanks(int(rows.size()),
          [&](int rank, std::unique_ptr<Transport> transport) {
            std::vector<std::vector<float>> arrays = {rows[size_t(rank)]};
            char staging[128];
            Ring(*transport, Pieces(piecesOf(arrays), TTS_F32), staging,
                 sizeof(staging))
                .allReduce();
            results[size_t(rank)] = arrays[0];
          });
  return results;
}

TEST(Ring, TwoRanksAndFourHaveOneTree) {
  constexpr int length = 103;
  std::vector<std::vector<float>> four(4), two(2);
  std::vector<float> expected;
  for (int i = 0; i < length; ++i) {
    float v[4];
    for (int p = 0; p < 4; ++p)
      four[size_t(p)].push_back(v[p] = elementOf(i, p));
    for (size_t p : {0, 1})
      two[p].push_back(v[p] + v[p + 2]);
    expected.push_back((v[0] + v[2]) + (v[1] + v[3]));
  }
  for (const auto &rows : {two, four})
    for (const auto &result : reduce(rows))
      EXPECT_EQ(result, expected);
}

TEST(Ring, RefusesWhatItCannotSum) {
  EXPECT_THROW(Pieces({}, TTS_I32), Error);
  onRanks(1, [](int, std::unique_ptr<Transport> transport) {
    float value = 0;
    EXPECT_THROW(Ring(*transport, Pieces({{&value, 1}}, TTS_F32), nullptr, 15),
                 Error);
  });
}

} // namespace
