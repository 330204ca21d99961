//===- BucketPrograms.h - forward and backward of each bucket -*- C++ -*-===//

#ifndef TTS_ANALYSIS_BUCKETPROGRAMS_H
#define TTS_ANALYSIS_BUCKETPROGRAMS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace tts {

/// Null where the module lacks one.
struct BucketPrograms {
  mlir::func::FuncOp forward, backward;
};

/// The forward and backward programs of a specialized module by bucket, in the
/// module's order.
llvm::MapVector<int64_t, BucketPrograms>
getBucketPrograms(mlir::ModuleOp module);

} // namespace tts

#endif // TTS_ANALYSIS_BUCKETPROGRAMS_H
