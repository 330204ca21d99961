//===- Blocks.h - forward cut at narrow places, and each block's ways ----===//

#ifndef TTS_LIB_TRANSFORMS_PLAN_REMAT_BLOCKS_H
#define TTS_LIB_TRANSFORMS_PLAN_REMAT_BLOCKS_H

#include "Levels.h"
#include "Run.h"

namespace tts::plan {

/// One way to treat a block: what of it is kept until its backward is done.
struct RematWay {
  std::vector<unsigned> kept;
  /// Of the kept ones.
  int64_t bytes = 0;
  /// The most live bytes of the block's backward, its own and those of values
  /// made in the block.
  int64_t transient = 0;
  /// Added in its backward.
  double seconds = 0;
  /// To make the kept ones, from what crosses into the block; and those that
  /// cross out of it as well.
  double makeSeconds = 0, makeSecondsOut = 0;
  /// Reads what crosses into the block although the way's level drops it.
  bool needsIn = false;
  /// Everything that crosses out of the block is among the kept.
  bool holdsOut = false;
};

/// Operations [firstOp, lastOp), and the steps [firstStep, lastStep) in which
/// backward reads them last.
struct RematBlock {
  unsigned firstOp, lastOp;
  unsigned firstStep, lastStep;
  std::vector<RematWay> ways;
  /// To make what crosses out.
  double outSeconds = 0;
  /// Of values that cross both into and out of the block.
  int64_t throughBytes = 0;
};

/// Forward as a chain of blocks. A value crosses a cut when something behind
/// the cut may read it, in forward or before backward has come down to the cut.
class RematBlocks {
public:
  RematBlocks(const RematProblem &problem, RematRunner &runner,
              llvm::ArrayRef<RematKept> levels, unsigned mostBlocks,
              unsigned mostWays);

  unsigned size() const { return blocks.size(); }
  const RematBlock &operator[](unsigned i) const { return blocks[i]; }
  /// What crosses into block `i`.
  llvm::ArrayRef<unsigned> crossing(unsigned i) const { return cross[i]; }
  /// Bytes of what crosses into block `to` and is made in block `from` or
  /// later.
  int64_t newCrossingBytes(unsigned from, unsigned to) const;

private:
  void findCrossings();
  void chooseCuts(unsigned mostBlocks);
  void makeBlocks();
  void findWays(RematBlock &block, llvm::ArrayRef<RematKept> levels,
                unsigned mostWays);
  RematWay tryWay(const RematBlock &block, const RematKept &level, bool out);
  void addBetween(const RematBlock &block, RematKept from, const RematKept &to,
                  std::vector<RematWay> &all);
  double makingSeconds(const RematBlock &block,
                       llvm::ArrayRef<unsigned> wanted);

  const RematProblem &problem;
  RematRunner &runner;
  /// A value crosses the cuts behind its operation up to this one.
  std::vector<unsigned> crossesUntil;
  /// Of each cut: the step at which backward has come down to it.
  std::vector<unsigned> passedAt;
  std::vector<unsigned> cuts;
  std::vector<RematBlock> blocks;
  std::vector<std::vector<unsigned>> cross;
  RematHolds holds;
  std::vector<char> wantedFlag;
};

} // namespace tts::plan

#endif // TTS_LIB_TRANSFORMS_PLAN_REMAT_BLOCKS_H
