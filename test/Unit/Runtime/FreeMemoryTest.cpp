//===- FreeMemoryTest.cpp - ranks that share a machine's memory -----------===//

#include "Runtime/Memory/FreeMemory.h"
#include "Runtime/Memory/Machine.h"
#include <gtest/gtest.h>
#include <vector>

using namespace tts::rt;

namespace {

constexpr uint64_t plenty = ~uint64_t(0);

/// Ranks with these machines and groups, each of 100 bytes, 10 already there.
std::vector<double> ranks(std::vector<std::pair<int, int>> places) {
  std::vector<double> all;
  for (auto [machine, group] : places)
    all.insert(all.end(), {double(machine), double(group), 100, 10});
  return all;
}

TEST(FreeMemory, IsOfAllRanksOfAMachine) {
  std::vector<double> all = ranks({{1, 1}, {1, 1}, {2, 2}});
  EXPECT_EQ(findLack(all.data(), 3, 0, 180, plenty), "");
  EXPECT_EQ(findLack(all.data(), 3, 1, 179, plenty),
            "the plans of the 2 ranks in this machine take 200 bytes, 199 are "
            "free");
  EXPECT_EQ(findLack(all.data(), 3, 2, 90, plenty), "");
  EXPECT_NE(findLack(all.data(), 3, 2, 89, plenty), "");
}

TEST(FreeMemory, OfGroupsOnOneMachine) {
  std::vector<double> all = ranks({{1, 5}, {1, 6}, {1, 6}});
  EXPECT_EQ(findLack(all.data(), 3, 0, 270, 90), "");
  EXPECT_NE(
      findLack(all.data(), 3, 1, 270, 179).find("2 ranks in this control"),
      std::string::npos);
  EXPECT_NE(
      findLack(all.data(), 3, 0, 269, plenty).find("3 ranks in this mach"),
      std::string::npos);
}

TEST(FreeMemory, OwnNumbersAreExact) {
  MemoryShare own = MemoryShare::own(1 << 20);
  EXPECT_EQ(own.machine, MemoryShare::own(0).machine);
  EXPECT_EQ(uint64_t(own.machine), machineId() >> 12);
  EXPECT_EQ(own.peak, double(1 << 20));
  EXPECT_GT(own.resident, 1e6);
  EXPECT_EQ(availableMemory() > 0, true);
}

} // namespace
