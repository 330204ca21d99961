//===- LinkWaits.h - how long entries wait for other ranks ---*- C++ -*-===//

#ifndef TTS_PIPELINES_LINKWAITS_H
#define TTS_PIPELINES_LINKWAITS_H

#include "tts/Dialect/Rt/IR/RtDialect.h"
#include "tts/Transforms/Plan/Hardware.h"
#include "llvm/ADT/DenseMap.h"

namespace tts {

/// Whether the entry is a collective, which takes the link's time.
bool isExchange(rt::EntryOp entry);

/// Seconds of a program after tts-memory beside those of its arithmetic
/// (`seconds` by entry): gathers and scatters of shards take the link one after
/// another; an entry waits for those that are not through with its bytes, and
/// for one that nothing runs beside. They have ended when the program has.
double countLinkWaits(rt::ProgramOp program,
                      const llvm::DenseMap<mlir::Operation *, double> &seconds,
                      const plan::Hardware &hardware);

} // namespace tts

#endif // TTS_PIPELINES_LINKWAITS_H
