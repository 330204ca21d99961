//===- WorldTest.cpp - numbers over ranks, and who launched them ---------===//

#include "Runtime/Collectives/World.h"
#include "Runtime/Abi/Error.h"
#include "Runtime/Collectives/Launch.h"
#include "Runtime/Collectives/Ring.h"
#include "ThreadTransport.h"
#include <gtest/gtest.h>
#include <map>

using namespace tts::rt;

namespace {

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
