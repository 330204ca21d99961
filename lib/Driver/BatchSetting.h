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

/// The batch of a module, and its rate, which --lr-scale makes follow it. May
/// be set again: what counts as changed is measured against the model's own.
class BatchSetting {
public:
  /// Reads the model's own.
  BatchSetting(mlir::ModuleOp module, const PlanningFlags &flags);

  /// The flag's, or the model's own.
  llvm::Error set();
  llvm::Error set(int64_t batch);
  int64_t get() const;
  llvm::ArrayRef<std::string> getChanges() const { return changes; }

private:
  llvm::Error scaleRate(ModuleSettings &settings);

  mlir::ModuleOp module;
  const PlanningFlags &flags;
  mlir::IntegerAttr ownBatch;
  mlir::FloatAttr ownRate;
  std::vector<std::string> changes;
};

/// The batches that may be tried where none fits: `batch` halved, and again,
/// as long as there are `least` utterances.
llvm::SmallVector<int64_t> getLowerBatches(int64_t batch, int64_t least);

} // namespace tts

#endif // TTS_LIB_DRIVER_BATCHSETTING_H
