//===- Order.h - the seeded order of training ----------------------------===//
//
// Epoch e: inside shard s a permutation seeded by (seed, e, s); the shards are
// visited round-robin in an order seeded by the seed. The stream of utterances
// runs through the epochs without dropping or repeating one; a position in it
// is two numbers. Neighbours in the order of shards belong to different ranks,
// so each takes its share of any stretch of the stream from its own shards.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_RUNTIME_IO_ORDER_H
#define TTS_RUNTIME_IO_ORDER_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tts::rt {

struct DataPosition {
  uint64_t epoch = 0;
  uint64_t taken = 0; ///< utterances of that epoch already taken

  bool operator==(const DataPosition &o) const {
    return epoch == o.epoch && taken == o.taken;
  }
};

/// A rank's part of the data: every `ranks`-th shard in the order of visits.
struct Share {
  uint32_t rank = 0, ranks = 1;
};

class Order {
public:
  /// Utterances are numbered from `first` on, shard by shard.
  Order(std::vector<uint32_t> shardSizes, uint32_t first, uint64_t seed);

  void seek(DataPosition position);
  DataPosition position() const { return at; }
  /// Takes the next `count` utterances. Allocates nothing.
  void take(uint32_t *out, size_t count);
  /// Whether an utterance is in one of the share's shards.
  bool isIn(const Share &share, uint32_t utterance) const;

private:
  void shuffleEpoch(uint64_t epoch);

  std::vector<uint32_t> shardSizes;
  std::vector<uint32_t> shardStarts;
  uint32_t first;
  uint64_t seed;
  DataPosition at;
  std::vector<uint32_t> shards;   ///< in the order of visits
  std::vector<uint32_t> visits;   ///< by shard: its place in that order
  std::vector<uint32_t> shuffled; ///< each shard's utterances, permuted
  std::vector<uint32_t> stream;   ///< this epoch's utterances in order
};

} // namespace tts::rt

#endif // TTS_RUNTIME_IO_ORDER_H
