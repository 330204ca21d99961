//===- Epilogues.h - sums that a product's own call can do ----------------===//
//
// A pure function of the IR: the target that decides and Select that obeys read
// the same chain. Knows no target.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_ANALYSIS_EPILOGUES_H
#define TTS_ANALYSIS_EPILOGUES_H

#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace tts {

/// Unit attribute of an epilogue's root: Select lets the product's call do the
/// sums. Set by the target.
inline constexpr llvm::StringLiteral kEpilogueAttr = "rt.epilogue";

/// (product + bias) + residual, in this order, each sum rounded.
struct Epilogue {
  mlir::Operation *product; ///< a linear layer or a convolution
  mlir::Value bias;         ///< a row, or null
  mlir::Value residual;     ///< of the product's type, or null
  /// The adds and the bias's broadcast, in program order; the last is the root.
  llvm::SmallVector<mlir::Operation *> ops;
};

/// What `root` is the end of; nobody else reads the product or a sum before it.
std::optional<Epilogue> matchEpilogue(mlir::Operation *root);

} // namespace tts

#endif // TTS_ANALYSIS_EPILOGUES_H
