//===- GroupGraph.h - ops of a block that run as one ------------*- C++ -*-===//

#ifndef TTS_LIB_ANALYSIS_GROUPGRAPH_H
#define TTS_LIB_ANALYSIS_GROUPGRAPH_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"
#include <deque>
#include <map>

namespace tts {

/// Says whether ops can run as one: whether something else would have to run
/// both after and before them. What runs as one already is asked about what
/// joins it only: a new circle goes through that.
class GroupGraph {
public:
  using Ops = llvm::SmallPtrSetImpl<mlir::Operation *>;

  explicit GroupGraph(mlir::Block &block);

  /// These run as one from now on. Indexing ops stand in every group that reads
  /// them and are nobody's.
  void unite(llvm::ArrayRef<mlir::Operation *> ops);
  /// `ops` run with `op` and all that does already.
  void extend(mlir::Operation *op, llvm::ArrayRef<mlir::Operation *> ops);

  /// Whether a value that one of `from` makes leads to one of `to` by way of an
  /// op that is none of either. `last` is the last of `to`.
  bool leads(const Ops &from, const Ops &to, mlir::Operation *last) const;

private:
  using Union = llvm::SmallVector<mlir::Operation *>;
  using Search = llvm::SmallVector<mlir::Operation *>;

  void addSpan(unsigned low, unsigned high);

  /// `op` and what runs with it.
  llvm::ArrayRef<mlir::Operation *> withAll(mlir::Operation *const &op) const;
  /// The highest position from which a path may lead back to `position`: unions
  /// that reach beyond it lead from there to their lowest op.
  unsigned boundOf(unsigned position) const;
  /// Readers of `op` in neither of two sets, seen through indexing ops.
  void addReaders(mlir::Operation *op, const Ops &from, const Ops &to,
                  Search &found) const;

  llvm::DenseMap<mlir::Operation *, unsigned> positions;
  std::deque<Union> unions;
  llvm::DenseMap<mlir::Operation *, Union *> unionOf;
  /// From the lowest to the highest position of unions, those that overlap put
  /// together.
  std::map<unsigned, unsigned> spans;
};

} // namespace tts

#endif // TTS_LIB_ANALYSIS_GROUPGRAPH_H
