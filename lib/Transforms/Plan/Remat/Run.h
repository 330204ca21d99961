//===- Run.h - backward under a policy, whole or a stretch of it ---------===//

#ifndef TTS_LIB_TRANSFORMS_PLAN_REMAT_RUN_H
#define TTS_LIB_TRANSFORMS_PLAN_REMAT_RUN_H

#include "tts/Transforms/Plan/Remat.h"

namespace tts::plan {

/// Runs policies over one problem, reusing its tables.
class RematRunner {
public:
  explicit RematRunner(const RematProblem &problem);

  /// Steps [firstStep, lastStep), which read no operation from `endOp` on, and
  /// where those below `given` are there and take no bytes.
  struct Stretch {
    unsigned firstStep, lastStep, given, endOp;
  };
  RematPlan run(const RematHolds &holds, const Stretch &stretch);
  /// Forward's peak, too.
  RematPlan run(const RematHolds &holds);

  /// A step in which a value was read, and the one before (-1: none).
  struct Read {
    unsigned op;
    int previous, step;
  };
  /// The same, with the steps in which each value was read.
  RematPlan run(const RematHolds &holds, std::vector<Read> &reads);

  /// Values below `given` that the last run read, with repetitions.
  llvm::ArrayRef<unsigned> givenReads() const { return readBelow; }

  /// The most bytes live in forward when these values (ascending) are kept.
  int64_t forwardPeak(llvm::ArrayRef<unsigned> kept) const;
  /// The last operation of forward that reads `op`'s storage, or itself.
  unsigned lastForwardReader(unsigned op) const { return lastForwardUse[op]; }

private:
  /// A value in memory, from one position to another.
  struct Instance {
    unsigned op;
    unsigned step;
    unsigned begin, end;
    bool kept, materialized, used;
  };
  struct Position {
    unsigned step;
    int64_t own;
  };

  void logRead(unsigned op, unsigned step);
  void demand(unsigned op, unsigned step, unsigned given);
  void read(unsigned op, unsigned step, unsigned position, bool absorbed,
            unsigned given);
  void makeClones(const RematHolds &holds, unsigned step, unsigned given,
                  RematPlan &plan);
  void measure(unsigned firstStep, RematPlan &plan) const;

  const RematProblem &problem;
  /// Last reader of each value in forward (itself if none), and whether it
  /// takes bytes there when it is not kept.
  std::vector<unsigned> lastForwardUse;
  std::vector<char> materializesInForward;

  // Of the run under way.
  std::vector<int> availableUntil;
  std::vector<unsigned> current;
  std::vector<Instance> instances;
  std::vector<Position> positions;
  std::vector<int> lastRead;
  std::vector<Read> *readLog = nullptr;
  std::vector<unsigned> pending, stack, readBelow;
  /// (step, operation) of what is made early.
  std::vector<std::pair<unsigned, unsigned>> early;
};

} // namespace tts::plan

#endif // TTS_LIB_TRANSFORMS_PLAN_REMAT_RUN_H
