//===- Ring.h - sums over ranks in a ring --------------------------------===//
//
// Reduce-scatter and all-gather around a ring: in each of them a rank sends
// (N-1)/N of the bytes, together 2 (N-1)/N, which no all-reduce can undercut
// (Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms for clusters of
// workstations, JPDC 69, 2009).
// Where the number of ranks is a power of two, an all-reduce halves the vector
// with the rank N/2 away, its half with the one N/4 away… and doubles it back:
// the same bytes in log2 N rounds (Thakur, Rabenseifner and Gropp, Optimization
// of collective communication operations in MPICH, IJHPCA 19, 2005), and a sum
// whose tree two ranks and four have in common.
// Every rank ends with the same bits: an element is summed in one place, and
// then copied. Allocates nothing after it was made.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_RUNTIME_COLLECTIVES_RING_H
#define TTS_RUNTIME_COLLECTIVES_RING_H

#include "Runtime/Abi/DType.h"
#include "Runtime/Collectives/Transport.h"
#include <vector>

namespace tts::rt {

/// Arrays that are one vector as far as the ring cares.
class Pieces {
public:
  struct Piece {
    void *data;
    uint64_t elements;
  };
  Pieces(std::vector<Piece> pieces, TtsDType dtype);

  uint64_t elements() const { return starts.back(); }
  uint64_t elementBytes() const { return size; }
  /// Elements [first, first + count) of the vector, to or from dense memory.
  void copyOut(uint64_t first, uint64_t count, void *out) const;
  void copyIn(uint64_t first, uint64_t count, const void *in) const;
  void add(uint64_t first, uint64_t count, const void *in) const;

private:
  template <typename Visit>
  void visit(uint64_t first, uint64_t count, Visit visit) const;

  std::vector<Piece> pieces;
  std::vector<uint64_t> starts; ///< and the end
  TtsDType dtype;
  uint64_t size;
};

class Ring {
public:
  /// `staging` holds two messages out and two in. Rank r's chunk of the vector
  /// is [bounds[r], bounds[r + 1]); without bounds all are equal.
  Ring(Transport &transport, Pieces pieces, void *staging,
       uint64_t stagingBytes, std::vector<uint64_t> bounds = {});

  /// Every element of this rank's chunk becomes its sum over all ranks; the
  /// others' chunks are used up.
  void reduceScatter() const;
  /// Every chunk becomes what the rank has there whose it is.
  void allGather() const;
  /// Every element becomes its sum over all ranks.
  void allReduce() const;

private:
  struct Span {
    uint64_t first, end;
    uint64_t size() const { return end - first; }
  };
  Span chunk(int64_t index) const;
  void allReduceByHalves() const;
  template <typename Take>
  void pass(int to, Span out, int from, Span in, Take take) const;

  Transport &transport;
  Pieces pieces;
  std::vector<uint64_t> bounds; ///< of chunks, and the end
  char *staging;
  uint64_t messageElements;
};

} // namespace tts::rt

#endif // TTS_RUNTIME_COLLECTIVES_RING_H
