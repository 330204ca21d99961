//===- Search.h - better plans for small graphs by annealing -------------===//

#ifndef TTS_LIB_TRANSFORMS_PLAN_REMAT_SEARCH_H
#define TTS_LIB_TRANSFORMS_PLAN_REMAT_SEARCH_H

#include "Run.h"

namespace tts::plan {

/// A plan and the policy that made it.
struct RematPoint {
  RematPlan plan;
  RematHolds holds;
};

/// The plans that no other beats in both peak and seconds: peaks fall, seconds
/// rise.
class RematFront {
public:
  /// Whether it was kept.
  bool offer(const RematPlan &plan, const RematHolds &holds);
  llvm::ArrayRef<RematPoint> points() const { return front; }
  std::vector<RematPoint> take() { return std::move(front); }
  /// The fastest of at most `peak` bytes, or null.
  const RematPoint *find(int64_t peak) const;

private:
  std::vector<RematPoint> front;
};

/// Walks down the front: below each plan's peak, simulated annealing looks for
/// the fastest plan. A move keeps or drops one value between two of its
/// readers, or carries others in its place. Random numbers have a fixed seed:
/// same problem, same plans.
class RematSearch {
public:
  RematSearch(const RematProblem &problem, RematRunner &runner,
              RematFront &front);

  /// At most `targets` peaks, each with `moves` moves.
  void improve(unsigned targets, unsigned moves);
  /// At one peak, several times from the best that is known.
  void improveAt(int64_t limit, unsigned tries, unsigned moves);

private:
  /// Between which steps a value may be carried: [v][j] is just before step j;
  /// 2 where it was made early in the step before.
  using Carry = std::vector<std::vector<char>>;

  void load(const RematHolds &holds);
  void updateHolds(unsigned op);
  void anneal(int64_t limit, unsigned moves, double hot);
  double energy(const RematPlan &plan, int64_t limit) const;
  /// One value, or one in place of another.
  bool move();
  void flip();
  void slide();
  void remember(unsigned op);
  void undo();
  uint64_t random(uint64_t below);

  const RematProblem &problem;
  RematRunner &runner;
  RematFront &front;
  /// Operations that read each value and whose own can be carried.
  std::vector<llvm::SmallVector<unsigned, 4>> users;
  double allSeconds = 0, weight;
  Carry carry;
  RematHolds holds;
  /// What the last move changed, as it was.
  struct Flipped {
    unsigned op = 0;
    std::vector<char> carry;
    llvm::SmallVector<RematHold, 1> holds;
  };
  std::vector<Flipped> flipped;
  unsigned numFlipped = 0;
  bool slides = false;
  /// Readers of the current plan: (value, step, its previous reader or -1).
  std::vector<RematRunner::Read> reads;
  uint64_t state = 0x9e3779b97f4a7c15;
};

} // namespace tts::plan

#endif // TTS_LIB_TRANSFORMS_PLAN_REMAT_SEARCH_H
