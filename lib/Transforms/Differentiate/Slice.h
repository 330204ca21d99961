//===- Slice.h - the part of @train that some values need ----------------===//

#ifndef TTS_LIB_TRANSFORMS_DIFFERENTIATE_SLICE_H
#define TTS_LIB_TRANSFORMS_DIFFERENTIATE_SLICE_H

#include "ProgramBuilder.h"
#include "TrainFunction.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseSet.h"

namespace tts {

/// Training draws dropout; evaluation passes training-only ops by.
enum class SliceMode { Training, Evaluation };

/// The ops and arguments of @train behind some values.
class Slice {
public:
  Slice(TrainFunction &train, mlir::ValueRange roots, SliceMode mode);

  bool contains(mlir::Value value) const { return values.contains(value); }

  /// Clones the slice into `program`, in @train's order; arguments come with
  /// their attributes. Maps @train's values to the program's.
  void copyInto(ProgramBuilder &program, mlir::IRMapping &mapping);

private:
  TrainFunction &train;
  SliceMode mode;
  llvm::DenseSet<mlir::Value> values;
};

} // namespace tts

#endif // TTS_LIB_TRANSFORMS_DIFFERENTIATE_SLICE_H
