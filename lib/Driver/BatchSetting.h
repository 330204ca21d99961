//===- BatchSetting.h - batch, and the rate that goes with it --*- C++ -*-===//

#ifndef TTS_LIB_DRIVER_BATCHSETTING_H
#define TTS_LIB_DRIVER_BATCHSETTING_H

#include "Flags.h"

#include "mlir/IR/BuiltinAttributes.h"

namespace tts {

/// Module attributes that flags override, and what that changes of the
/// experiment, in words.
class ModuleSettings {
public:
  ModuleSettings(mlir::ModuleOp module, std::vector<std::string> &changes)
      : module(module), changes(changes) {}

  /// Null removes it.
  void set(llvm::StringRef name, mlir::Attribute value);

private:
  mlir::ModuleOp module;
  std::vector<std::string> &changes;
};

/// The batch of a module, in utterances or in frames, and its rate, which
/// --lr-scale makes follow it. May be set again: what counts as changed is
/// measured against the model's own.
class BatchSetting {
public:
  /// Reads the model's own.
  BatchSetting(mlir::ModuleOp module, const PlanningFlags &flags);

  /// The flag's, or the model's own. Frames are as many utterances as the mean
  /// one (0: of full buckets) has room for in them.
  llvm::Error set(double framesOfUtterance);
  /// So many utterances; of frames as many less.
  llvm::Error set(int64_t batch);
  int64_t get() const;
  /// 0: it is counted in utterances.
  int64_t getFrames() const;
  llvm::ArrayRef<std::string> getChanges() const { return changes; }

private:
  llvm::Error scaleRate(ModuleSettings &settings);
  double framesOfBuckets() const;

  mlir::ModuleOp module;
  const PlanningFlags &flags;
  mlir::IntegerAttr ownBatch, ownFrames;
  int64_t asked = 0, askedFrames = 0;
  mlir::FloatAttr ownRate;
  std::vector<std::string> changes;
};

/// The batches that may be tried where none fits: `batch` halved, and again,
/// as long as there are `least` utterances.
llvm::SmallVector<int64_t> getLowerBatches(int64_t batch, int64_t least);

} // namespace tts

#endif // TTS_LIB_DRIVER_BATCHSETTING_H
