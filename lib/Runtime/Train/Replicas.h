//===- Replicas.h - are the ranks' parameters still the same? -------------===//
//
// Every rank holds all parameters (but those that are sharded, or of another
// pipeline stage) and updates them from the same sums, or gets them from the
// others: they stay the same to the bit, unless memory, a library or this
// program is at fault. A checksum of their bytes goes round after every update,
// so that such a fault ends the run before anything of it is saved. Made at
// start, it allocates nothing later.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_RUNTIME_TRAIN_REPLICAS_H
#define TTS_RUNTIME_TRAIN_REPLICAS_H

#include "Runtime/Train/Model.h"

namespace tts::rt {

/// Of bytes at an address that is a multiple of 8. One changed bit changes it.
uint64_t checksum(const void *data, uint64_t bytes);

class Replicas {
public:
  explicit Replicas(const Model &model);

  /// Throws Exit::CannotContinue on every rank, with each one's checksum,
  /// unless all replicas of its stage have the same parameters after update
  /// `step`. Nothing is done for one rank.
  void check(int64_t step);

private:
  /// A part of a parameter, at most 1 MiB of it: what a thread takes at a time.
  struct Block {
    const char *data;
    uint64_t bytes;
    uint64_t sum;
  };
  static void sumBlocks(void *const *blocks, int64_t lo, int64_t hi);
  uint64_t checksumOfAll();

  World *world;
  int threads;
  std::vector<Block> blocks;
};

} // namespace tts::rt

#endif // TTS_RUNTIME_TRAIN_REPLICAS_H
