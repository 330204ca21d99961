//===- Parts.h - one kernel over many tensors -------------------*- C++ -*-===//
//
// The ops of a kernel may fall into parts that do the same to tensors of other
// shapes (the update of all parameters). The code is that of one part; which
// tensors it works on is chosen at run time, by the number in the kernel's
// range: a block of elements of a tensor, or a whole tensor that is summed up.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_CONVERSION_TTSTOKERNELS_PARTS_H
#define TTS_CONVERSION_TTSTOKERNELS_PARTS_H

#include "Emitter.h"

namespace tts::kernels {

class Parts {
public:
  /// The parts of a kernel's body: ops that read each other's results.
  explicit Parts(mlir::func::FuncOp kernel);

  /// Whether it is several parts of ops that are done alike to many tensors.
  bool areMany() const { return parts.size() > 1 && allPerTensor; }
  /// Fails with an error where they are not the same ops or have no rule.
  mlir::LogicalResult check(const Rules &rules);
  void emit(Emitter &e, const Rules &rules) const;

private:
  struct Part {
    llvm::SmallVector<mlir::Operation *> ops;
    /// The arguments that it alone reads and its results that are returned.
    llvm::SmallVector<mlir::Value> tensors, results;
    int64_t elements = 0; ///< of each of its tensors
  };

  static llvm::SmallVector<mlir::Value> tensorsAndResults(const Part &part);
  void addTensors(Part &part);
  bool areAlike(const Part &part) const;
  bool areSums(const Rules &rules) const;
  int64_t tasksOf(const Part &part, bool sums) const;
  /// The tensors of part `number`, a value of the range, take the place of the
  /// first part's; the task's number within the part, and its elements.
  std::pair<mlir::Value, mlir::Value> choose(Emitter &e, mlir::Value task,
                                             bool sums) const;
  void emitBlock(Emitter &e, mlir::Value block, mlir::Value elements) const;

  mlir::func::FuncOp kernel;
  llvm::SmallVector<Part> parts;
  bool allPerTensor = true;
};

} // namespace tts::kernels

#endif // TTS_CONVERSION_TTSTOKERNELS_PARTS_H
