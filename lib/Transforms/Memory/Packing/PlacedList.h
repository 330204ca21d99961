//===- PlacedList.h - where the next item of a greedy order fits -*- C++
//-*-===//
//
// What is placed so far, in two indices: all of it by offset, and by length and
// begin. A query takes the one that it can read faster.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_LIB_TRANSFORMS_MEMORY_PACKING_PLACEDLIST_H
#define TTS_LIB_TRANSFORMS_MEMORY_PACKING_PLACEDLIST_H

#include "Problem.h"

#include <memory>

namespace tts::packing {

class PlacedList {
public:
  PlacedList(const Problem &problem, bool bestFit);

  /// The lowest offset where span `index` fits, or the one in the tightest gap.
  int64_t findOffset(int32_t index);

  void insert(int32_t index, int64_t offset);

private:
  struct Block {
    int64_t offset, top;
    int32_t begin, end;
  };

  /// Blocks in order of offset, cut into buckets that know their extent. The
  /// times lie apart, so that the compiler compares several at once.
  struct Bucket {
    static constexpr int32_t capacity = 128;
    int32_t begins[capacity] = {}, ends[capacity] = {};
    int64_t offsets[capacity], tops[capacity];
    int32_t size = 0;
    int64_t top = 0;
    int32_t begin = INT32_MAX, end = 0;
    void insert(int32_t place, const Block &block);
    std::unique_ptr<Bucket> splitOffUpperHalf();
  };

  /// A walk upwards past blocks that overlap the span, in order of offset.
  class Walk;

  const Problem &problem;
  const bool bestFit;
  size_t count = 0;
  std::vector<std::unique_ptr<Bucket>> buckets;
  /// Blocks of lengths [2^level, 2^(level+1)) by begin >> level.
  std::vector<std::vector<std::vector<Block>>> levels;
  std::vector<int32_t> neighbours; ///< by span: how many overlap it in all
  std::vector<Block> found;        ///< reused by queries

  void countNeighbours();
  void insertByOffset(const Block &block);
  bool walkBucket(const Bucket &bucket, const Span &span, Walk &walk) const;
  void collect(const Span &span);
};

} // namespace tts::packing

#endif // TTS_LIB_TRANSFORMS_MEMORY_PACKING_PLACEDLIST_H
