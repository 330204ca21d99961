//===- GroupsTest.cpp - groups of shards, the tree of their sums ---------===//

#include "Runtime/IO/Groups.h"
#include "Runtime/Collectives/World.h"
#include "ThreadTransport.h"
#include <gtest/gtest.h>

using namespace tts::rt;

namespace {

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

} // namespace
