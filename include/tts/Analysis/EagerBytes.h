//===- EagerBytes.h - what an eager framework would hold --------*- C++ -*-===//

#ifndef TTS_ANALYSIS_EAGERBYTES_H
#define TTS_ANALYSIS_EAGERBYTES_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringRef.h"

namespace tts {

/// What a framework that runs op by op would hold on a batch taken at once, in
/// the bucket where that is most: see docs/planning.md. `states` are the bytes
/// of parameters, gradients, moments and EMA.
int64_t countEagerBytes(mlir::ModuleOp differentiated, int64_t batch,
                        llvm::StringRef precision, int64_t states);

} // namespace tts

#endif // TTS_ANALYSIS_EAGERBYTES_H
