//===- Kernels.h - outlining fusion groups into kernels ------------------===//

#ifndef TTS_LIB_CONVERSION_TTSTORT_KERNELS_H
#define TTS_LIB_CONVERSION_TTSTORT_KERNELS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "tts/Analysis/FusionGroups.h"
#include "llvm/ADT/StringMap.h"
#include <map>
#include <vector>

namespace tts {

/// The kernels of a module: groups with the same ops, types and ties share one
/// function.
class KernelTable {
public:
  explicit KernelTable(mlir::ModuleOp module) : module(module) {}

  /// Replaces `group` by a launch of its kernel at the root's place, which may
  /// be after readers of its results.
  void outline(const FusionGroup &group);

  unsigned getNumKernels() const { return numKernels; }
  unsigned getNumLaunches() const { return numLaunches; }

private:
  using Words = std::vector<uintptr_t>;

  /// Equal where groups differ in nothing but properties of like hashes.
  static Words describe(const FusionGroup &group, mlir::ValueRange operands);
  mlir::func::FuncOp build(const FusionGroup &group, mlir::ValueRange operands);
  mlir::func::FuncOp find(const FusionGroup &group, mlir::ValueRange operands);

  mlir::ModuleOp module;
  std::map<Words, llvm::SmallVector<mlir::func::FuncOp, 1>> kernels;
  llvm::StringMap<unsigned> names; ///< uses of each base name
  unsigned numKernels = 0, numLaunches = 0;
};

} // namespace tts

#endif // TTS_LIB_CONVERSION_TTSTORT_KERNELS_H
