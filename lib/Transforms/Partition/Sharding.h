//===- Sharding.h - states of which each rank has a shard -----------------===//

#ifndef TTS_LIB_TRANSFORMS_PARTITION_SHARDING_H
#define TTS_LIB_TRANSFORMS_PARTITION_SHARDING_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"
#include "llvm/ADT/MapVector.h"

namespace tts::partition {

/// How much is sharded over how many ranks; each level has the one before.
struct Sharding {
  enum Level { None, Optimizer, Gradients, Parameters };
  Level level = None;
  int64_t ranks = 1;
  /// Gathers begun ahead of the one that is used; 0: nothing overlaps.
  int64_t prefetch = 0;
};

/// The argument becomes a rank's shard of what it was.
void makeShard(mlir::func::FuncOp program, mlir::BlockArgument argument,
               int64_t ranks);

/// After arguments or what is returned changed types.
void refreshType(mlir::func::FuncOp program);

/// A parameter that is trained, as update is given it.
struct Parameter {
  mlir::Type type;
  mlir::DictionaryAttr attributes;
  mlir::LocationAttr loc;
};
using Parameters = llvm::MapVector<mlir::StringAttr, Parameter>;

/// Those of which update reads a gradient; before it is sharded.
Parameters findParameters(mlir::func::FuncOp update);
/// Those to which backward gives a gradient, where there is no update: the
/// planner looks at one bucket's programs alone.
Parameters findParameters(llvm::ArrayRef<mlir::func::FuncOp> programs);

/// Gradients, and parameters where they are sharded, are shards in all programs
/// but update, which is still as it was: backward scatters each gradient when
/// it is final, programs gather each parameter before they read it. `update`
/// may be null.
void shardPrograms(llvm::ArrayRef<mlir::func::FuncOp> programs,
                   mlir::func::FuncOp update, Sharding sharding);

/// The optimizer works on shards. What `update` is given whole it shards first
/// (gradients are summed so), parameters that are kept whole are gathered last.
void shardUpdate(mlir::func::FuncOp update, Sharding sharding);

} // namespace tts::partition

#endif // TTS_LIB_TRANSFORMS_PARTITION_SHARDING_H
