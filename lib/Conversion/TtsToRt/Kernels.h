//===- Kernels.h - outlining fusion groups into kernels ------------------===//

#ifndef TTS_LIB_CONVERSION_TTSTORT_KERNELS_H
#define TTS_LIB_CONVERSION_TTSTORT_KERNELS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "tts/Analysis/FusionGroups.h"
#include "llvm/ADT/StringMap.h"

namespace tts {

/// The kernels of a module: groups with the same ops, types and ties share one
/// function.
class KernelTable {
public:
  explicit KernelTable(mlir::ModuleOp module) : module(module) {}

  /// Replaces `group` by a launch of its kernel at the root's place, which may
  /// be after readers of its results.
  void outline(const FusionGroup &group);

  unsigned getNumKernels() const { return kernels.size(); }
  unsigned getNumLaunches() const { return numLaunches; }

private:
  mlir::func::FuncOp build(const FusionGroup &group, mlir::ValueRange operands);
  mlir::func::FuncOp unique(mlir::func::FuncOp kernel, std::string name);

  mlir::ModuleOp module;
  llvm::StringMap<mlir::func::FuncOp> kernels; ///< by printed body
  llvm::StringMap<unsigned> names;             ///< uses of each base name
  unsigned numLaunches = 0;
};

} // namespace tts

#endif // TTS_LIB_CONVERSION_TTSTORT_KERNELS_H
