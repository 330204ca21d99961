//===- Activity.h - which values of @train carry a gradient --------------===//

#ifndef TTS_LIB_TRANSFORMS_DIFFERENTIATE_ACTIVITY_H
#define TTS_LIB_TRANSFORMS_DIFFERENTIATE_ACTIVITY_H

#include "TrainFunction.h"
#include "llvm/ADT/DenseMap.h"

namespace tts {

/// Values on a path from a trainable parameter to a loss, each with one
/// parameter behind it and one loss ahead of it (for messages).
class Activity {
public:
  /// Fails, with a message, on an op that lies on such a path and has no
  /// derivative, and on a trainable parameter that reaches no loss.
  static llvm::FailureOr<Activity> compute(TrainFunction &train);

  /// Whether a gradient passes through the op.
  bool isActive(mlir::Operation *op) const;
  /// Whether the value depends on a trainable parameter.
  bool dependsOnParameter(mlir::Value value) const {
    return behind.count(value);
  }
  /// "parameter "w" and loss "mel"" around an active op.
  std::string describe(mlir::Operation *op) const;

private:
  llvm::DenseMap<mlir::Value, llvm::StringRef> behind, ahead;
};

} // namespace tts

#endif // TTS_LIB_TRANSFORMS_DIFFERENTIATE_ACTIVITY_H
