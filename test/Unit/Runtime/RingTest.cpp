//===- RingTest.cpp - sums over ranks that are threads --------------------===//

#include "Runtime/Collectives/Ring.h"
#include "Runtime/Abi/Error.h"
#include "Runtime/Collectives/Launch.h"
#include "Runtime/Collectives/ShardedRing.h"
#include "Runtime/Collectives/World.h"
#include "Runtime/IO/Groups.h"
#include "ThreadTransport.h"
#include <gtest/gtest.h>
#include <map>

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

TEST(Groups, ARankFoldsItsGroupsAsTheTreeGoes) {
  auto ranksOf = [](Share share, int groups) {
    std::vector<uint32_t> list;
    for (const Share &group : groupsOf(share, groups)) {
      EXPECT_EQ(group.ranks, groups == 1 ? share.ranks : uint32_t(groups));
      list.push_back(group.rank);
    }
    return list;
  };
  using List = std::vector<uint32_t>;
  EXPECT_EQ(ranksOf({2, 3}, 1), List({2}));
  EXPECT_EQ(ranksOf({0, 1}, 4), List({0, 2, 1, 3}));
  EXPECT_EQ(ranksOf({1, 2}, 4), List({1, 3}));
  EXPECT_EQ(ranksOf({3, 4}, 4), List({3}));
}

TEST(Groups, RanksAddNumbersAsOneDoes) {
  const double v[4] = {1e30, 1, -1e30, 3}; // 1 and 3 survive in this tree only
  double one[4] = {v[0], v[2], v[1], v[3]};
  addNeighbours(one, 4, 1);
  EXPECT_EQ(one[0], 4);
  onRanks(2, [&](int rank, std::unique_ptr<Transport> transport) {
    double own[2] = {v[rank], v[rank + 2]};
    addNeighbours(own, 2, 1);
    World(std::move(transport)).sum(own, 1);
    EXPECT_EQ(own[0], 4);
  });
  onRanks(4, [&](int rank, std::unique_ptr<Transport> transport) {
    double own = v[rank];
    World(std::move(transport)).sum(&own, 1);
    EXPECT_EQ(own, 4);
  });
}

TEST(Ring, RefusesWhatItCannotSum) {
  EXPECT_THROW(Pieces({}, TTS_I32), Error);
  onRanks(1, [](int, std::unique_ptr<Transport> transport) {
    float value = 0;
    EXPECT_THROW(Ring(*transport, Pieces({{&value, 1}}, TTS_F32), nullptr, 15),
                 Error);
  });
}

TEST(World, NumbersAreAddedInTheOrderOfRanks) {
  onRanks(3, [](int rank, std::unique_ptr<Transport> transport) {
    World world(std::move(transport));
    // 1e30 first: what is added to it before it is taken away is lost.
    const double own[3][2] = {{1e30, 1}, {1, 2}, {-1e30, 3}};
    double values[2] = {own[rank][0], own[rank][1]};
    const double *all = world.gather(values, 2);
    for (int r = 0; r < 3; ++r)
      EXPECT_EQ(all[2 * r + 1], own[r][1]);
    world.sum(values, 2);
    EXPECT_EQ(values[0], 0);
    EXPECT_EQ(values[1], 6);
    EXPECT_EQ(world.bulkBytesSent(), 0u);
  });
  World alone;
  double value = 5;
  alone.sum(&value, 1);
  EXPECT_EQ(value, 5);
  EXPECT_EQ(*alone.gather(&value, 1), 5);
}

TEST(World, StagesAndReplicasSumAmongThemselves) {
  onRanks(6, [](int rank, std::unique_ptr<Transport> transport) {
    World world(std::move(transport), /*stages=*/3);
    EXPECT_EQ(world.stage(), rank / 2);
    EXPECT_EQ(world.replica(), rank % 2);
    double all = rank, replicas = rank, stages = rank;
    world.sum(&stages, 1, Among::Stages);
    world.sum(&replicas, 1, Among::Replicas);
    world.sum(&all, 1);
    EXPECT_EQ(all, 15);
    EXPECT_EQ(replicas, 2 * (rank / 2 * 2) + 1);
    EXPECT_EQ(stages, 3 * (rank % 2) + 6);
    const double own = rank;
    const double *list = world.gather(&own, 1, Among::Stages);
    for (int s = 0; s < 3; ++s)
      EXPECT_EQ(list[s], 2 * s + rank % 2);
    // Arrays too, and what is sent counts once, as the whole's.
    float values[8];
    std::fill_n(values, 8, float(rank));
    char staging[64];
    Ring(*world.messages(Among::Replicas), Pieces({{values, 8}}, TTS_F32),
         staging, sizeof(staging))
        .allReduce();
    for (float value : values)
      EXPECT_EQ(value, float(2 * (rank / 2 * 2) + 1));
    EXPECT_EQ(world.bulkBytesSent(), 8 * sizeof(float));
  });
  onRanks(4, [](int, std::unique_ptr<Transport> transport) {
    EXPECT_THROW(World(std::move(transport), 3), Error);
  });
}

/// Messages of one group are not taken for another's, though each pair of ranks
/// is in two and they come in another order.
TEST(World, GroupsDoNotMixMessages) {
  onRanks(2, [](int rank, std::unique_ptr<Transport> transport) {
    World world(std::move(transport), /*stages=*/2);
    Transport &all = *world.messages(),
              &stages = *world.messages(Among::Stages);
    double in[2] = {}, out[2] = {10.0 + rank, 20.0 + rank};
    auto exchange = [&](Transport &t, int which) {
      t.start(0, {1 - rank, &out[which], 8, 1 - rank, &in[which], 8});
    };
    exchange(rank ? stages : all, rank);
    exchange(rank ? all : stages, 1 - rank);
    all.wait(0);
    stages.wait(0);
    EXPECT_EQ(in[0], 10.0 + (1 - rank));
    EXPECT_EQ(in[1], 20.0 + (1 - rank));
  });
}

Launch launchOf(const std::map<std::string, const char *> &environment) {
  return findLaunch([&](const char *name) {
    auto it = environment.find(name);
    return it == environment.end() ? nullptr : it->second;
  });
}

TEST(Launch, ReadsTheInnermostLauncher) {
  EXPECT_EQ(launchOf({}).ranks, 1);
  Launch mpirun = launchOf({{"OMPI_COMM_WORLD_RANK", "2"},
                            {"OMPI_COMM_WORLD_SIZE", "4"},
                            {"SLURM_PROCID", "0"},
                            {"SLURM_STEP_NUM_TASKS", "1"}});
  EXPECT_EQ(mpirun.rank, 2);
  EXPECT_EQ(mpirun.ranks, 4);
  Launch torchrun = launchOf({{"RANK", "1"}, {"WORLD_SIZE", "2"}});
  EXPECT_EQ(torchrun.rank, 1);
  EXPECT_EQ(torchrun.ranks, 2);
  // A Slurm job without srun is no launch.
  EXPECT_EQ(launchOf({{"SLURM_NTASKS", "8"}}).ranks, 1);
  for (const char *wrong : {"", "x", "-1", "2"})
    EXPECT_THROW(launchOf({{"RANK", wrong}, {"WORLD_SIZE", "2"}}), Error);
}

TEST(Launch, AnotherNumberIsAUsageError) {
  checkLaunch({}, 1);
  checkLaunch({1, 2, "mpirun"}, 2);
  for (auto [launch, planned] : {std::pair(Launch{0, 2, "mpirun"}, 1),
                                 {Launch{}, 2},
                                 {Launch{0, 4, "srun"}, 2}})
    try {
      checkLaunch(launch, planned);
      ADD_FAILURE() << "was accepted";
    } catch (const Error &error) {
      EXPECT_EQ(error.code, Exit::BadUsage);
    }
}

} // namespace
