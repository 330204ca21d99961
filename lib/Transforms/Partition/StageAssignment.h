//===- StageAssignment.h - which pipeline stage an op belongs to ----------===//
//
// Forward is cut into runs of ops, one after another. What depends on the batch
// alone belongs nowhere: each stage computes for itself what it needs of it. A
// gradient belongs to the last stage that its gradients come from and that has
// the parameters and what forward kept for it; so values go from a stage to
// later ones in forward and to earlier ones in backward, never otherwise.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_LIB_TRANSFORMS_PARTITION_STAGEASSIGNMENT_H
#define TTS_LIB_TRANSFORMS_PARTITION_STAGEASSIGNMENT_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace tts::partition {

/// The programs of a bucket that are cut together; any may be missing.
struct BucketParts {
  mlir::func::FuncOp forward, backward, eval;
};

class StageAssignment {
public:
  /// Of a value that every stage makes for itself.
  static constexpr int kAnywhere = -1;

  /// `starts`: the names of the ops of forward that the second stage begins
  /// with, the third….
  StageAssignment(mlir::ModuleOp module, mlir::ArrayAttr starts);

  /// Fails where the names do not cut forward into stages.
  llvm::LogicalResult run();

  int getCount() const { return count; }
  const llvm::MapVector<int64_t, BucketParts> &getBuckets() const {
    return buckets;
  }
  int stageOf(mlir::Operation *op) const {
    return stages.lookup_or(op, kAnywhere);
  }
  /// Of an argument: anywhere.
  int stageOf(mlir::Value value) const;

  /// The stages that read a parameter (or its half copy): the lowest is its
  /// owner.
  const llvm::SmallSetVector<int, 2> &
  stagesOf(mlir::StringAttr parameter) const;
  int ownerOf(mlir::StringAttr parameter) const {
    return *llvm::min_element(stagesOf(parameter));
  }
  /// The stage that computes a loss.
  int stageOfLoss(mlir::StringAttr loss) const { return losses.lookup(loss); }

  /// What `value` of a backward program is: seen through recompute_after; and
  /// where forward has it, too (a stash, or computed again), forward's.
  static mlir::Value lookThrough(mlir::Value value);
  mlir::Value findForward(mlir::Value value) const;
  /// The stage that gives a value to others.
  int sourceOf(mlir::Value value) const;
  /// The sum that `value` adds to, in its place; null where it adds to none.
  static mlir::Value sumBefore(mlir::Value value);
  /// The gradient that `value` is a sum of so far; null for anything else.
  mlir::StringAttr accumulatorOf(mlir::Value value) const;

  /// Values of forward that backward of a stage reads: in the order they were
  /// found; by stage.
  llvm::ArrayRef<mlir::Value> keptIn(mlir::func::FuncOp forward,
                                     int stage) const;
  /// The stages that need a value of another, of forward or eval later ones, of
  /// backward earlier ones, and those between, which hand it on: a message goes
  /// to a neighbour, so no stage waits for one that is far behind.
  llvm::ArrayRef<int> readersOf(mlir::Value value) const;

private:
  void collect();
  llvm::LogicalResult assignForward(mlir::func::FuncOp forward);
  void assignEval(mlir::func::FuncOp eval);
  void assignBackward(BucketParts &parts);
  int placeGradient(mlir::Operation *op);
  void noteParameters(mlir::func::FuncOp program);
  void noteCrossings(mlir::func::FuncOp program);
  void noteBackward(BucketParts &parts);
  void noteRead(BucketParts &parts, mlir::Value value, int stage);
  void need(mlir::Value value, int source, int reader);
  bool isAvailable(mlir::Value value, int stage) const;

  mlir::ModuleOp module;
  mlir::ArrayAttr starts;
  int count;
  llvm::MapVector<int64_t, BucketParts> buckets;
  llvm::DenseMap<mlir::Operation *, int> stages;
  /// By the names of forward's ops.
  llvm::DenseMap<mlir::StringAttr, int> byName;
  llvm::DenseMap<mlir::StringAttr, llvm::SmallSetVector<int, 2>> parameters;
  llvm::DenseMap<mlir::StringAttr, int> losses;
  /// Of backward's values, those that forward has.
  llvm::DenseMap<mlir::Value, mlir::Value> inForward;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<int, 2>> readers;
  llvm::DenseMap<std::pair<mlir::Operation *, int>,
                 llvm::SetVector<mlir::Value>>
      kept;
  /// Computed again, by which stages.
  llvm::DenseSet<std::pair<mlir::Operation *, int>> read;
  llvm::SmallSetVector<int, 2> none;
};

} // namespace tts::partition

#endif // TTS_LIB_TRANSFORMS_PARTITION_STAGEASSIGNMENT_H
