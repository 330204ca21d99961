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

/// Ops computed by one kernel, in program order; the last one is the root and
/// only its results leave the group. Indexing ops (broadcast, full) stand in
/// every group that reads them.
struct FusionGroup {
  llvm::SmallVector<mlir::Operation *> ops;
  mlir::Operation *root() const { return ops.back(); }
};

/// Ops of a group at most: registers and compile time bound what one kernel may
/// hold.
inline constexpr size_t kMostGroupOps = 12;

/// The groups of a block of tts ops, by the position of their roots. Ops of
/// other dialects belong to no group. Without `fuse` every op that computes is
/// a group of its own: same bits, more traffic; for comparison.
llvm::SmallVector<FusionGroup> computeFusionGroups(mlir::Block &block,
                                                   bool fuse = true);

} // namespace tts

#endif // TTS_ANALYSIS_FUSIONGROUPS_H
