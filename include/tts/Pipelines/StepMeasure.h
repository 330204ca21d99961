//===- StepMeasure.h - figures of a module after Memory ------*- C++ -*-===//

#ifndef TTS_PIPELINES_STEPMEASURE_H
#define TTS_PIPELINES_STEPMEASURE_H

#include "mlir/IR/BuiltinOps.h"
#include "tts/Transforms/Plan/Hardware.h"
#include "tts/Transforms/Plan/LiveBytes.h"
#include "llvm/ADT/MapVector.h"
#include <map>

namespace tts {

/// A contraction takes its flops or the traffic of its operands, whichever is
/// longer, a kernel its traffic; each has a fixed cost of being called.
struct TimeModel {
  double flopsPerSecond = 1, bytesPerSecond = 1;
  double entrySeconds = 0, callSeconds = 0;

  double seconds(double flops, double bytes, double calls) const {
    return entrySeconds + callSeconds * calls +
           std::max(flops / flopsPerSecond, bytes / bytesPerSecond);
  }
};

/// What a scheduled and packed module comes to: all read from its rt.entries,
/// buffers and manifest.
struct StepMeasure {
  int64_t arenaBytes = 0, persistentBytes = 0;
  plan::LiveBytes live;
  /// The most that is live above the persistent bytes outside forward and
  /// backward.
  int64_t sideBytes = 0;
  /// By input: the class `batch`'s bytes.
  llvm::MapVector<llvm::StringRef, int64_t> batchBytes;
  /// By class and name: what else persists.
  llvm::DenseMap<std::pair<unsigned, llvm::StringRef>, int64_t> stateBytes;
  /// Hashes of the distinct library calls, ascending.
  std::vector<uint64_t> primitives;
  /// Predicted, of one run of a program, by (kind, bucket).
  std::map<std::pair<int64_t, int64_t>, double> seconds;
  /// Beside that, likewise: how long forward and backward wait for the link.
  std::map<std::pair<int64_t, int64_t>, double> waits;
  /// Host bytes of the longest utterance of a bucket, by bucket.
  llvm::SmallVector<int64_t> hostBytes;

  /// What is live at the peak but does not persist, by class.
  plan::ClassBytes transientClasses() const;
  /// Denominators, forward and backward of a bucket, and what of that is spent
  /// waiting for other ranks.
  double microBatchSeconds(int64_t bucket) const;
  double waitSeconds(int64_t bucket) const;
  /// Zero and update.
  double updateSeconds() const;
};

/// The programs of a module after tts-memory, in order.
llvm::SmallVector<plan::ProgramSpan> getProgramSpans(mlir::ModuleOp module);

StepMeasure measureStep(mlir::ModuleOp module, const plan::Hardware &hardware,
                        int threads);

} // namespace tts

#endif // TTS_PIPELINES_STEPMEASURE_H
