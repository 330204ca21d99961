//===- Replicas.cpp - checksums of parameters, compared over ranks --------===//
//
// Eight chains side by side, as the words come from memory faster than one can
// be multiplied after the other. A step of a chain can be undone, so one that
// took another word ends elsewhere.
//
//===----------------------------------------------------------------------===//

#include "Runtime/Train/Replicas.h"
#include "Runtime/Abi/Error.h"
#include "Runtime/Collectives/World.h"
#include <algorithm>
#include <cinttypes>
#include <cstring>

namespace tts::rt {

namespace {

constexpr uint64_t factor = 0x9E3779B97F4A7C15u; // odd: can be undone

uint64_t chained(uint64_t chain, uint64_t word) {
  chain = (chain ^ word) * factor;
  return chain ^ chain >> 32;
}

/// "rank 1 has 00c0ffee…, ranks 0, 2 have …": each checksum, and who has it.
/// The first one's rank is `shift`.
std::string whoHasWhat(const double *all, int ranks, int shift) {
  std::string text;
  auto isSame = [&](int a, int b) {
    return all[2 * a] == all[2 * b] && all[2 * a + 1] == all[2 * b + 1];
  };
  for (int first = 0; first < ranks; ++first) {
    std::string who = std::to_string(first + shift);
    bool isKnown = false, areMany = false;
    for (int r = 0; r < first; ++r)
      isKnown |= isSame(r, first);
    if (isKnown)
      continue;
    for (int r = first + 1; r < ranks; ++r)
      if (isSame(r, first)) {
        who += ", " + std::to_string(r + shift);
        areMany = true;
      }
    char value[24];
    std::snprintf(value, sizeof(value), "%08" PRIx32 "%08" PRIx32,
                  uint32_t(all[2 * first]), uint32_t(all[2 * first + 1]));
    text += (text.empty() ? "" : ", ") +
            ((areMany ? "ranks " : "rank ") + who) +
            (areMany ? " have " : " has ") + value;
  }
  return text;
}

} // namespace

uint64_t checksum(const void *data, uint64_t bytes) {
  constexpr int chains = 8;
  const char *at = static_cast<const char *>(data);
  uint64_t chain[chains] = {1, 2, 3, 4, 5, 6, 7, 8}, words[chains];
  uint64_t whole = bytes / sizeof(words) * sizeof(words);
  for (uint64_t i = 0; i < whole; i += sizeof(words)) {
    std::memcpy(words, at + i, sizeof(words));
    for (int c = 0; c < chains; ++c)
      chain[c] = chained(chain[c], words[c]);
  }
  std::memset(words, 0, sizeof(words));
  std::memcpy(words, at + whole, bytes - whole);
  uint64_t sum = bytes;
  for (int c = 0; c < chains; ++c)
    sum = chained(sum, chained(chain[c], words[c]));
  return sum;
}

Replicas::Replicas(const Model &model)
    : world(model.world), threads(model.manifest.threads) {
  constexpr uint64_t most = 1 << 20;
  for (const Parameter &p : model.manifest.parameters)
    for (uint64_t at = 0; world && !p.value.at.isShard && at < p.value.at.size;
         at += most)
      blocks.push_back({model.arena.at(p.value.at.offset + at),
                        std::min(most, p.value.at.size - at), 0});
}

void Replicas::sumBlocks(void *const *operands, int64_t lo, int64_t hi) {
  Block *blocks = static_cast<Block *>(operands[0]);
  for (int64_t i = lo; i < hi; ++i)
    blocks[i].sum = checksum(blocks[i].data, blocks[i].bytes);
}

uint64_t Replicas::checksumOfAll() {
  void *operands[] = {blocks.data()};
  parallelFor(sumBlocks, operands, int64_t(blocks.size()), threads);
  uint64_t sum = 0;
  for (const Block &block : blocks)
    sum = chained(sum, block.sum);
  return sum;
}

void Replicas::check(int64_t step) {
  if (!world)
    return;
  uint64_t sum = checksumOfAll();
  double halves[] = {double(sum >> 32), double(uint32_t(sum))};
  const double *all = world->gather(halves, 2, Among::Replicas);
  for (int r = 1; r < world->replicas(); ++r)
    if (all[2 * r] != all[0] || all[2 * r + 1] != all[1])
      throw Error(Exit::CannotContinue, "update " + std::to_string(step),
                  "the ranks' parameters are not the same after it: " +
                      whoHasWhat(all, world->replicas(),
                                 world->stage() * world->replicas()),
                  "nothing of it is saved: start all ranks again with "
                  "--resume, and check these machines' memory and libraries");
}

} // namespace tts::rt
