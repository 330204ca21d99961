//===- ShardedRing.cpp - the ranks' shards around a ring ------------------===//

#include "Runtime/Collectives/ShardedRing.h"
#include <cstring>

namespace tts::rt {

namespace {

/// The arrays as one vector, rank after rank, and where each rank's begins.
struct Columns {
  std::vector<Pieces::Piece> pieces;
  std::vector<uint64_t> bounds{0};

  Columns(const std::vector<ShardedRing::Array> &arrays, uint64_t size,
          int ranks) {
    for (int rank = 0; rank < ranks; ++rank) {
      uint64_t end = bounds.back();
      for (const ShardedRing::Array &array : arrays) {
        Part part = shardOf(array.elements, rank, ranks);
        pieces.push_back({array.whole + part.first * size, part.count});
        end += part.count;
      }
      bounds.push_back(end);
    }
  }
};

Ring makeRing(Transport &transport,
              const std::vector<ShardedRing::Array> &arrays, TtsDType dtype,
              void *staging, uint64_t stagingBytes) {
  Columns columns(arrays, dtypeSize(dtype), transport.ranks());
  return Ring(transport, Pieces(std::move(columns.pieces), dtype), staging,
              stagingBytes, std::move(columns.bounds));
}

template <typename T> void addTo(char *to, const char *from, uint64_t count) {
  T *sums = reinterpret_cast<T *>(to);
  const T *addends = reinterpret_cast<const T *>(from);
  for (uint64_t i = 0; i < count; ++i)
    sums[i] += addends[i];
}

} // namespace

void copyToShard(const char *whole, char *shard, uint64_t elements,
                 uint64_t elementBytes, int rank, int ranks) {
  Part part = shardOf(elements, rank, ranks);
  uint64_t bytes = part.count * elementBytes;
  uint64_t all = shardElements(elements, ranks) * elementBytes;
  std::memmove(shard, whole + part.first * elementBytes, bytes);
  std::memset(shard + bytes, 0, all - bytes);
}

ShardedRing::ShardedRing(Transport &transport, std::vector<Array> all,
                         TtsDType dtype, void *staging, uint64_t stagingBytes)
    : transport(transport), arrays(std::move(all)), dtype(dtype),
      ring(makeRing(transport, arrays, dtype, staging, stagingBytes)) {}

void ShardedRing::reduceScatter(bool adds) const {
  ring.reduceScatter();
  uint64_t size = dtypeSize(dtype);
  int rank = transport.rank(), ranks = transport.ranks();
  for (const Array &array : arrays) {
    if (!adds) {
      copyToShard(array.whole, array.shard ? array.shard : array.whole,
                  array.elements, size, rank, ranks);
      continue;
    }
    Part part = shardOf(array.elements, rank, ranks);
    const char *sums = array.whole + part.first * size;
    dtype == TTS_F32 ? addTo<float>(array.shard, sums, part.count)
                     : addTo<double>(array.shard, sums, part.count);
  }
}

void ShardedRing::allGather() const {
  uint64_t size = dtypeSize(dtype);
  for (const Array &array : arrays) {
    Part part = shardOf(array.elements, transport.rank(), transport.ranks());
    std::memcpy(array.whole + part.first * size, array.shard,
                part.count * size);
  }
  ring.allGather();
}

} // namespace tts::rt
