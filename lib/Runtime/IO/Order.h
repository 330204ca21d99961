//===- Order.h - the seeded order of training ----------------------------===//
//
// Epoch e: inside shard s a permutation seeded by (seed, e, s); the shards are
// visited round-robin in an order seeded by (seed, e). The stream of utterances
// runs through the epochs without dropping or repeating one; a position in it
// is two numbers.
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

class Order {
public:
  /// Utterances are numbered from `first` on, shard by shard.
  Order(std::vector<uint32_t> shardSizes, uint32_t first, uint64_t seed);

  void seek(DataPosition position);
  DataPosition position() const { return at; }
  /// Takes the next `count` utterances. Allocates nothing.
  void take(uint32_t *out, size_t count);

private:
  void shuffleEpoch(uint64_t epoch);

  std::vector<uint32_t> shardSizes;
  std::vector<uint32_t> shardStarts;
  uint32_t first;
  uint64_t seed;
  DataPosition at;
  std::vector<uint32_t> shards;   ///< this epoch's order of shards
  std::vector<uint32_t> shuffled; ///< each shard's utterances, permuted
  std::vector<uint32_t> stream;   ///< this epoch's utterances in order
};

} // namespace tts::rt

#endif // TTS_RUNTIME_IO_ORDER_H
