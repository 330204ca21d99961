//===- Remat.h - what to keep for backward, what to compute again --------===//
//
// Forward runs once and keeps some of its values (the stash) until backward has
// used them; any other value that backward needs is computed again there, from
// kept values, parameters and batch inputs. docs/rematerialization.md has the
// model and the method.

#ifndef TTS_TRANSFORMS_PLAN_REMAT_H
#define TTS_TRANSFORMS_PLAN_REMAT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <vector>

namespace tts::plan {

/// One operation of forward and the one value it makes, in execution order. An
/// operation of several results is a value that cannot be kept, with its cost
/// and no bytes, and one costless operation for each result that reads it: one
/// kept result then does not bring the others back.
struct RematOp {
  /// Of the value: 0 for views.
  int64_t bytes = 0;
  /// Live only while it is computed, in forward and again.
  int64_t scratchBytes = 0;
  /// To compute it again.
  double seconds = 0;
  /// Parameters, batch inputs, constants and views: there whenever their
  /// operands are, at no cost; never stored. Implies `!canKeep`.
  bool isFree = false;
  bool canKeep = true;
  bool canRecompute = true;
  /// Makes one element from elements: takes no bytes where everything that
  /// reads it runs at once and takes producers in.
  bool fuses = false;
  /// Earlier operations.
  llvm::SmallVector<unsigned, 4> operands;
};

/// One step (an operation or a kernel) of backward, in execution order.
struct RematStep {
  /// Forward's values that it reads.
  llvm::SmallVector<unsigned, 4> uses;
  /// Backward's own values between the step before and this one, and during
  /// this one with its results and scratch; without any value of forward.
  int64_t liveBefore = 0, liveDuring = 0;
  /// A kernel that takes element-wise producers in.
  bool fuses = false;
};

struct RematProblem {
  std::vector<RematOp> ops;
  std::vector<RematStep> steps;

  /// Why this cannot be solved, or "".
  llvm::StringRef findFault() const;
};

/// `op` is computed again just before `step`, after the clones before it.
struct RematClone {
  unsigned op = 0, step = 0;
};

/// What serves a reader of forward's value v in step j (the step itself, or a
/// clone made before it): the latest clone of v at or before j, else the kept
/// value, else v is free and is made on the spot. A value dies with its last
/// reader.
struct RematPlan {
  /// Ascending; what forward hands to backward.
  std::vector<unsigned> kept;
  /// In execution order, free operations left out.
  std::vector<RematClone> clones;
  /// Of all clones; infinite if one of them cannot be computed again.
  double seconds = 0;
  int64_t keptBytes = 0;
  /// The most bytes live at once, in forward and in backward.
  int64_t forwardPeak = 0, backwardPeak = 0;
  /// Where backward's peak is: just before or during this step.
  unsigned peakStep = 0;

  int64_t peakBytes() const {
    return forwardPeak > backwardPeak ? forwardPeak : backwardPeak;
  }
};

/// A value is in memory, or may be left there, from step `first` to step `last`
/// (inclusive); from forward on when `first` is -1. An early one is made in
/// step `first` even if nothing reads it there, so that its operands can go.
struct RematHold {
  int first = -1, last = 0;
  bool early = false;
};

/// A policy: for each operation, disjoint ascending intervals. A value that is
/// needed where it is not in memory is computed again, and its operands with
/// it; what no interval covers is dropped at the end of the step.
using RematHolds = std::vector<llvm::SmallVector<RematHold, 1>>;

/// Runs backward under a policy: the clones, their seconds and the live bytes.
RematPlan runRemat(const RematProblem &problem, const RematHolds &holds);

/// The policy that keeps these values for all their uses and computes each
/// other one once, at its first use.
RematHolds holdKept(const RematProblem &problem, llvm::ArrayRef<bool> kept);

/// No plan of at most `peakBytes` adds fewer seconds. What a plan found adds
/// (`knownSeconds`) guides the search for a good bound and ends it when the
/// bound is there. `caseWork`: relaxed plans tried by cases of what is computed
/// again, times operations and steps; 10^6 take about 0.1 s.
double rematLowerBound(const RematProblem &problem, int64_t peakBytes,
                       double knownSeconds = 0, int64_t caseWork = 1'000'000);

struct RematOptions {
  /// At most about this many plans, spread evenly over the peaks.
  unsigned maxRungs = 64;
  /// Small graphs are searched beyond what the other methods find: moves times
  /// operations and steps, in thousands. About 30 ms for each thousand.
  int64_t searchWork = 2000;
  /// Peaks below which plans are looked for by cases as well, with this much
  /// work for each (see rematLowerBound), and then by moves: `askedWork` is as
  /// `searchWork`, for each limit.
  std::vector<int64_t> limits;
  int64_t caseWork = 5'000'000;
  int64_t askedWork = 20'000;
};

/// Plans from "keep every value that backward reads" to "as little as
/// possible": peaks strictly fall, seconds strictly rise. Knows no budget.
std::vector<RematPlan> solveRemat(const RematProblem &problem,
                                  const RematOptions &options = {});

} // namespace tts::plan

#endif // TTS_TRANSFORMS_PLAN_REMAT_H
