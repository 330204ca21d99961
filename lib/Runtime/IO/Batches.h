//===- Batches.h - cuts an update into micro-batches ---------------------===//
//
// Every utterance goes to the first bucket that holds it. Where a bucket's last
// micro-batch would be partial, its utterances may move up into free slots of a
// larger bucket, if that makes the update cheaper: a longer bucket changes
// neither loss nor gradient. The cut depends on the utterances alone.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_RUNTIME_IO_BATCHES_H
#define TTS_RUNTIME_IO_BATCHES_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tts::rt {

/// One micro-batch: utterances [first, first + count) of the list.
struct MicroBatch {
  uint32_t bucket, first, count;
};

/// A bucket as the cut sees it.
struct BucketShape {
  uint32_t microBatch;
  double cost;     ///< of one micro-batch, full or partial
  bool holdsLower; ///< every dim at least as long as the bucket's before it
};

class Batches {
public:
  /// `most` bounds the utterances of a cut.
  Batches(std::vector<BucketShape> buckets, size_t most);

  /// Orders `utterances` (count of them, with their buckets by utterance in
  /// `bucketOf`) by micro-batch, in place, stable inside a bucket, and appends
  /// the micro-batches to `out`, which has room. Allocates nothing.
  void cut(uint32_t *utterances, size_t count, const uint8_t *bucketOf,
           std::vector<MicroBatch> &out);

private:
  /// How many micro-batches each bucket runs, by dynamic programming over how
  /// many utterances are carried up.
  void choose();
  void chooseFrom(size_t bucket, size_t carried);

  std::vector<BucketShape> buckets;
  size_t most;
  std::vector<uint32_t> counts; ///< per bucket
  std::vector<double> best;     ///< bucket × carried: cheapest so far
  std::vector<uint32_t> runs;   ///< the micro-batches that led there
  std::vector<uint32_t> from;   ///< the number carried before
  std::vector<uint32_t> chosen; ///< per bucket
  std::vector<uint32_t> sorted;
};

} // namespace tts::rt

#endif // TTS_RUNTIME_IO_BATCHES_H
