//===- MixedPrecision.h - the programs of a model in mixed precision ------===//

#ifndef TTS_LIB_TRANSFORMS_PRECISION_MIXEDPRECISION_H
#define TTS_LIB_TRANSFORMS_PRECISION_MIXEDPRECISION_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SetVector.h"

namespace tts::precision {

/// The half type that a plan's precision names, or null.
mlir::FloatType getHalfType(mlir::MLIRContext *context,
                            llvm::StringRef precision);

/// Rewrites forward, backward, eval and infer, whether symbolic or per bucket;
/// returns the parameters that they read in `half`. Those that
/// `tts.half_copies` names come as copies.
llvm::SetVector<mlir::StringAttr> narrowPrograms(mlir::ModuleOp module,
                                                 mlir::FloatType half);

/// Lets the update make a copy of each parameter that `tts.half_copies` names.
void addHalfCopies(mlir::ModuleOp module, mlir::FloatType half);

/// Lets the update take gradients of scaled losses: it reads the run-time
/// scalar `inverse_loss_scale` and folds it into the factor of clipping.
void addLossScale(mlir::ModuleOp module);

} // namespace tts::precision

#endif // TTS_LIB_TRANSFORMS_PRECISION_MIXEDPRECISION_H
