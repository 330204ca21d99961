//===- Groups.cpp - groups of shards that are summed apart ---------------===//

#include "Runtime/IO/Groups.h"

namespace tts::rt {

std::vector<Share> groupsOf(const Share &rank, int groups) {
  if (groups == 1)
    return {rank};
  // The tree's leaves from left to right: indices with their bits reversed.
  std::vector<uint32_t> leaves = {0};
  while (leaves.size() * rank.ranks < size_t(groups)) {
    size_t half = leaves.size();
    for (size_t i = 0; i < half; ++i)
      leaves.push_back(2 * leaves[i] + 1);
    for (size_t i = 0; i < half; ++i)
      leaves[i] *= 2;
  }
  std::vector<Share> shares;
  for (uint32_t leaf : leaves)
    shares.push_back({rank.rank + leaf * rank.ranks, uint32_t(groups)});
  return shares;
}

void addNeighbours(double *values, size_t groups, size_t count) {
  for (; groups > 1; groups /= 2)
    for (size_t g = 0; g < groups / 2; ++g)
      for (size_t i = 0; i < count; ++i)
        values[g * count + i] =
            values[2 * g * count + i] + values[(2 * g + 1) * count + i];
}

} // namespace tts::rt
