//===- BoundaryBytes.h - what crosses a cut between layers ------*- C++ -*-===//

#ifndef TTS_ANALYSIS_BOUNDARYBYTES_H
#define TTS_ANALYSIS_BOUNDARYBYTES_H

#include "mlir/IR/BuiltinOps.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"

namespace tts {

/// Elements of a value of a program on symbolic shapes, in a bucket, for so
/// many utterances.
int64_t countElements(mlir::Value value, BucketAttr bucket, int64_t batch);

/// The least that lives across one place in the middle half of forward, in the
/// largest bucket: what a stage would send the next one of a micro-batch.
/// Parameters and inputs are everywhere.
int64_t countBoundaryBytes(mlir::ModuleOp differentiated, int64_t microBatch,
                           llvm::StringRef precision);

} // namespace tts

#endif // TTS_ANALYSIS_BOUNDARYBYTES_H
