//===- Chain.h - the best plans of a chain of blocks, for every limit ----===//

#ifndef TTS_LIB_TRANSFORMS_PLAN_REMAT_CHAIN_H
#define TTS_LIB_TRANSFORMS_PLAN_REMAT_CHAIN_H

#include "Blocks.h"

namespace tts::plan {

/// Dynamic programming over memory in equal slots. While forward (the first
/// time, or again) passes a block it either keeps the block's values in one of
/// its ways until backward comes down to it, or keeps nothing but what crosses
/// some later cut; then the blocks before that cut run again, with the same
/// choices, when backward has come down to the cut (Beaumont et al. 2019, with
/// several ways for a block). One table answers all limits.
class RematChain {
public:
  RematChain(const RematProblem &problem, const RematBlocks &blocks,
             int64_t peakBytes, unsigned slots);

  unsigned numSlots() const { return slots; }
  /// The policy for `slot` slots of memory; empty if there is none.
  RematHolds holdsFor(unsigned slot) const;

private:
  using Row = std::vector<double>;

  unsigned inSlots(int64_t bytes) const;
  void fillAgain();
  void fillFirst();
  Row &again(unsigned from, unsigned to) {
    return againRows[size_t(from) * (numBlocks + 1) + to];
  }
  const Row &again(unsigned from, unsigned to) const {
    return againRows[size_t(from) * (numBlocks + 1) + to];
  }
  unsigned crossSlots(unsigned from, unsigned to) const {
    return crossing[size_t(from) * (numBlocks + 1) + to];
  }
  double wayAgain(unsigned from, unsigned to, unsigned way, int slot) const;
  double cutAgain(unsigned from, unsigned to, unsigned cut, int slot) const;
  double wayFirst(bool held, unsigned from, unsigned way, int slot) const;
  double cutFirst(unsigned from, unsigned cut, int slot) const;
  void hold(RematHolds &holds, unsigned value, int first, int last) const;
  void takeWay(RematHolds &holds, unsigned block, unsigned way,
               int start) const;
  void takeAgain(RematHolds &holds, unsigned from, unsigned to, int slot) const;
  void takeFirst(RematHolds &holds, int slot) const;

  const RematProblem &problem;
  const RematBlocks &blocks;
  unsigned numBlocks, slots;
  int64_t slotBytes;
  std::vector<Row> againRows;
  /// Of what blocks [i, end) need; [0] without what crosses into block i.
  std::vector<Row> firstRows[2];
  std::vector<unsigned> crossing;
  /// Seconds of making what crosses, from the first block on.
  std::vector<double> outSeconds;
  struct WaySlots {
    unsigned kept, keptAndThrough, transient;
  };
  std::vector<std::vector<WaySlots>> waySlots;
};

} // namespace tts::plan

#endif // TTS_LIB_TRANSFORMS_PLAN_REMAT_CHAIN_H
