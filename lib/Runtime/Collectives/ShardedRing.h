//===- ShardedRing.h - a ring whose chunks are the ranks' shards ----------===//
//
// Arrays of any lengths are one vector in which rank r's shards of all of them
// lie together, then those of rank r + 1: so one ring serves many arrays, and
// what arrives for a rank is its shards. Padding is not sent. Allocates nothing
// after it was made.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_RUNTIME_COLLECTIVES_SHARDEDRING_H
#define TTS_RUNTIME_COLLECTIVES_SHARDEDRING_H

#include "Runtime/Abi/Shard.h"
#include "Runtime/Collectives/Ring.h"

namespace tts::rt {

class ShardedRing {
public:
  /// Whole arrays, and where this rank's shards of them are: beside them, or
  /// (null) at their front.
  struct Array {
    char *whole, *shard;
    uint64_t elements;
  };
  ShardedRing(Transport &transport, std::vector<Array> arrays, TtsDType dtype,
              void *staging, uint64_t stagingBytes);

  /// Shards become those of the arrays' sums, or these are added to them. Uses
  /// the arrays up.
  void reduceScatter(bool adds) const;
  /// Arrays become what the ranks' shards say.
  void allGather() const;

private:
  Transport &transport;
  std::vector<Array> arrays;
  TtsDType dtype;
  Ring ring;
};

/// Copies the rank's part of an array to a shard, and zeros behind it.
void copyToShard(const char *whole, char *shard, uint64_t elements,
                 uint64_t elementBytes, int rank, int ranks);

} // namespace tts::rt

#endif // TTS_RUNTIME_COLLECTIVES_SHARDEDRING_H
