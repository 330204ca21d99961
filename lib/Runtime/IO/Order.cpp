//===- Order.cpp - shuffles an epoch -------------------------------------===//
//
// Fisher–Yates by the counter generator. An epoch is shuffled whole when it is
// entered, into memory made at start.
//
//===----------------------------------------------------------------------===//

#include "Runtime/IO/Order.h"
#include "Runtime/Train/Random.h"
#include <algorithm>
#include <numeric>
#include <utility>

namespace tts::rt {

namespace {

/// The key of one permutation: of shard `s` in an epoch, or of the shards.
uint64_t orderKey(uint64_t seed, uint64_t epoch, uint64_t s) {
  uint64_t words[2] = {epoch, s};
  return hashKey(seed, {reinterpret_cast<const char *>(words), sizeof(words)});
}

void shuffle(uint32_t *first, uint32_t count, uint64_t key) {
  for (uint32_t i = count; i > 1; --i) {
    uint64_t word = philox(i, key)[0];
    std::swap(first[i - 1], first[word * i >> 32]);
  }
}

constexpr uint64_t theShardsThemselves = ~uint64_t(0);

} // namespace

Order::Order(std::vector<uint32_t> sizes, uint32_t first, uint64_t seed)
    : shardSizes(std::move(sizes)), first(first), seed(seed) {
  uint32_t total = 0;
  for (uint32_t size : shardSizes) {
    shardStarts.push_back(total);
    total += size;
  }
  shards.resize(shardSizes.size());
  std::iota(shards.begin(), shards.end(), 0);
  shuffle(shards.data(), uint32_t(shards.size()),
          orderKey(seed, 0, theShardsThemselves));
  visits.resize(shards.size());
  for (uint32_t place = 0; place < shards.size(); ++place)
    visits[shards[place]] = place;
  shuffled.resize(total);
  stream.resize(total);
  shuffleEpoch(0);
}

void Order::seek(DataPosition position) {
  at = position;
  shuffleEpoch(at.epoch);
}

void Order::shuffleEpoch(uint64_t epoch) {
  std::iota(shuffled.begin(), shuffled.end(), first);
  uint32_t longest = 0;
  for (uint32_t s = 0; s < shards.size(); ++s) {
    shuffle(shuffled.data() + shardStarts[s], shardSizes[s],
            orderKey(seed, epoch, s));
    longest = std::max(longest, shardSizes[s]);
  }
  size_t out = 0;
  for (uint32_t round = 0; round < longest; ++round)
    for (uint32_t s : shards)
      if (round < shardSizes[s])
        stream[out++] = shuffled[shardStarts[s] + round];
}

bool Order::isIn(const Share &share, uint32_t utterance) const {
  auto after = std::upper_bound(shardStarts.begin(), shardStarts.end(),
                                utterance - first);
  size_t shard = size_t(after - shardStarts.begin()) - 1;
  return visits[shard] % share.ranks == share.rank;
}

void Order::take(uint32_t *out, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (at.taken == stream.size()) {
      at = {at.epoch + 1, 0};
      shuffleEpoch(at.epoch);
    }
    out[i] = stream[at.taken++];
  }
}

} // namespace tts::rt
