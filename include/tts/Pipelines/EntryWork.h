//===- EntryWork.h - what the entries of a step do -----------*- C++ -*-===//

#ifndef TTS_PIPELINES_ENTRYWORK_H
#define TTS_PIPELINES_ENTRYWORK_H

#include "mlir/IR/BuiltinOps.h"
#include "tts/Dialect/Rt/IR/RtDialect.h"
#include "tts/Transforms/Plan/EntryTimes.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tts {

/// Visits the entries of a module after tts-memory that a training step runs,
/// bucket by bucket (denominators, forward, backward), at last zero and update.
/// A bucket's entries find in the caches what its own run before left there, so
/// their work does not depend on other buckets.
void visitWork(
    mlir::ModuleOp module,
    llvm::function_ref<void(rt::ProgramOp, rt::EntryOp, const plan::Work &)>
        visit);

} // namespace tts

#endif // TTS_PIPELINES_ENTRYWORK_H
