//===- ReverseMode.h - reverse-mode differentiation of a block -----------===//

#ifndef TTS_LIB_TRANSFORMS_DIFFERENTIATE_REVERSEMODE_H
#define TTS_LIB_TRANSFORMS_DIFFERENTIATE_REVERSEMODE_H

#include "Activity.h"
#include "mlir/IR/Builders.h"

namespace tts {

/// Walks a block backwards and builds, somewhere else, the gradients of its
/// values. The gradient ops read the block's values directly: the caller turns
/// those references into stash or recomputation afterwards.
class ReverseMode {
public:
  ReverseMode(const Activity &activity, mlir::OpBuilder &builder)
      : activity(activity), builder(builder) {}

  /// The gradient that a value starts with.
  void seed(mlir::Value value, mlir::Value gradient) {
    contribute(value, gradient);
  }
  /// Contributions to the parameter `value`, called `name`, go into
  /// `accumulator`, one after the other.
  void accumulateInto(mlir::Value value, llvm::StringRef name,
                      mlir::Value accumulator) {
    accumulators[value] = {name, accumulator};
  }
  llvm::LogicalResult run(mlir::Block &body);

  /// After run: the accumulator with every contribution in it.
  mlir::Value getAccumulator(mlir::Value value) const {
    return accumulators.lookup(value).sum;
  }

private:
  struct Accumulator {
    llvm::StringRef name;
    mlir::Value sum;
  };
  void contribute(mlir::Value value, mlir::Value gradient);
  llvm::LogicalResult differentiate(mlir::Operation *op);

  const Activity &activity;
  mlir::OpBuilder &builder;
  llvm::DenseMap<mlir::Value, mlir::Value> gradients;
  llvm::DenseMap<mlir::Value, Accumulator> accumulators;
};

} // namespace tts

#endif // TTS_LIB_TRANSFORMS_DIFFERENTIATE_REVERSEMODE_H
