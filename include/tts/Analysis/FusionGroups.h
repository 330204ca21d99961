//===- FusionGroups.h - which ops become one kernel -----------------------===//
//
// A pure function of the IR, used by Plan (what a plan costs) and by Select
// (what is outlined) alike, so that the estimate is the truth. Knows no target.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_ANALYSIS_FUSIONGROUPS_H
#define TTS_ANALYSIS_FUSIONGROUPS_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"

namespace tts {

/// Ops computed by one kernel, in program order: pointwise ops, among which one
/// row op may stand, or one other op. Indexing ops (broadcast, full) stand in
/// every group that reads them.
struct FusionGroup {
  llvm::SmallVector<mlir::Operation *> ops;
  /// What the rest of the program reads, in order of the ops.
  llvm::SmallVector<mlir::Value> results;
  /// Tensors that undergo the same, side by side: so many parts of the ops have
  /// nothing to do with each other.
  unsigned parts = 1;

  /// The last op.
  mlir::Operation *root() const { return ops.back(); }
  /// The op that goes over rows, or null.
  mlir::Operation *row() const;
};

/// Ops of a group at most, but for indexing ops, single numbers and what stands
/// side by side: registers and compile time bound what one kernel may hold.
inline constexpr size_t kMostGroupOps = 12;

/// The groups of a block of tts ops, by the position of their roots. Ops of
/// other dialects and ops that nobody reads belong to no group. A group's
/// launch may have to move: it comes after what the group reads and before who
/// reads its results, and there is such an order. Without `fuse` every op that
/// computes is a group of its own: same bits, more traffic; for comparison.
llvm::SmallVector<FusionGroup> computeFusionGroups(mlir::Block &block,
                                                   bool fuse = true);

} // namespace tts

#endif // TTS_ANALYSIS_FUSIONGROUPS_H
