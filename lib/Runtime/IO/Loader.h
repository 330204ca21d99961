//===- Loader.h - reads the next update while this one runs --------------===//
//
// Two host buffers, committed at start: the caller works on one, a thread fills
// the other with the utterances of the update to come. Validation borrows the
// caller's buffer between updates. Each holds a rank's share of an update;
// where it gets more, because the others' shards have ended before its own,
// what does not fit is read when its micro-batch is filled.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_RUNTIME_IO_LOADER_H
#define TTS_RUNTIME_IO_LOADER_H

#include "Runtime/IO/Batches.h"
#include "Runtime/IO/Groups.h"
#include "Runtime/IO/Inputs.h"
#include "Runtime/IO/Order.h"
#include <condition_variable>
#include <exception>
#include <mutex>
#include <pthread.h>

namespace tts::rt {

/// The share's utterances of one update (or of a part of validation), in host
/// memory.
struct HostBatch {
  std::vector<uint32_t> utterances;     ///< by micro-batch
  std::vector<MicroBatch> microBatches; ///< group by group
  std::vector<size_t> groupEnds;        ///< in microBatches
  std::vector<const char *> data; ///< utterances × taken(); or null: late
  uint64_t total = 0;             ///< utterances, of all shares
  uint64_t frames = 0, paddedFrames = 0;
  uint64_t epoch = 0;     ///< of its first utterance
  uint32_t checksum = 0;  ///< of the update's utterances, of all shares
  DataPosition after;     ///< where the stream goes on
  char *buffer = nullptr; ///< its half of the host memory
};

class Loader {
public:
  /// Takes all of an update, or a share of it.
  Loader(const Corpus &corpus, const Manifest &manifest, uint64_t seed,
         DataPosition start, Share share = {});
  ~Loader();
  Loader(const Loader &) = delete;
  Loader &operator=(const Loader &) = delete;

  /// Waits for the next update; the one before is no longer valid.
  const HostBatch &next();
  /// Reads these utterances (at most a batch) into the current update's place,
  /// which is no longer valid.
  const HostBatch &read(const uint32_t *utterances, size_t count);
  /// Fills the inputs of micro-batch i.
  void fill(const HostBatch &batch, size_t i, const Arena &arena) const;
  /// Fills the inputs of a bucket with no utterance at all.
  void fillEmpty(uint32_t bucket, const Arena &arena) const;

  /// The share's part of the validation split by groups, ordered so that few
  /// micro-batches are partial.
  const std::vector<std::vector<uint32_t>> &validation() const {
    return validationOrder;
  }
  const std::vector<uint8_t> &buckets() const { return bucketOf; }
  uint64_t hostBytes() const { return 2 * halfBytes + lateBytes; }
  /// The most utterances of one update.
  size_t mostUtterances() const { return most; }
  /// Tensors that were read when their micro-batch was filled.
  uint64_t lateReads() const { return late; }

private:
  void allocate();
  uint64_t worstBytes(uint64_t &largestInput) const;
  void takeUpdate();
  void findValidation(uint64_t seed);
  void plan(HostBatch &batch);
  void cut(Batches &batches, HostBatch &batch, size_t first) const;
  void readAll(HostBatch &batch);
  void work();
  static void *enter(void *self);

  const Corpus &corpus;
  const Manifest &manifest;
  Inputs inputs;
  std::vector<uint8_t> bucketOf; ///< per utterance
  std::vector<std::vector<uint32_t>> validationOrder;
  Share share;
  std::vector<Share> groups;
  size_t most;
  Order order;
  std::vector<uint32_t> taken; ///< an update's utterances, of all shares
  Batches batches;             ///< the thread's
  Batches batchesOfCaller;
  char *host = nullptr; ///< two halves, and room for one tensor that comes late
  uint64_t halfBytes = 0, lateBytes = 0;
  mutable uint64_t late = 0;
  HostBatch slots[2];
  int mine = 0; ///< the slot the caller works on

  std::mutex mutex;
  std::condition_variable changed;
  bool ready = false; ///< the other slot is filled
  bool stopping = false;
  bool started = false;
  std::exception_ptr failure;
  pthread_t thread;
};

} // namespace tts::rt

#endif // TTS_RUNTIME_IO_LOADER_H
