//===- Sums.h - sums in their one canonical order ---------------*- C++ -*-===//
//
// Lane l adds the elements l, l+32, … of a row, then a tree over the lanes.
// Down columns, lane l of 8 adds the rows l, l+8, …, then a tree.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_CONVERSION_TTSTOKERNELS_SUMS_H
#define TTS_CONVERSION_TTSTOKERNELS_SUMS_H

#include "Emitter.h"

namespace tts::kernels {

/// Σ over the columns of one row, of several terms at once: `terms` gives the
/// lanes of each at the current chunk.
Emitter::Values sumRow(Emitter &e, int64_t columns, mlir::Type element,
                       size_t count,
                       llvm::function_ref<Emitter::Values()> terms);

using Term = llvm::function_ref<mlir::Value(const Position &)>;

/// Σ over rows [first, first + rows) of a space and over its columns.
mlir::Value sumRows(Emitter &e, mlir::Value first, int64_t rows,
                    llvm::ArrayRef<int64_t> shape, mlir::Type element,
                    Term term);

/// Σ over a whole space, its shape flattened or not.
mlir::Value sumAll(Emitter &e, llvm::ArrayRef<int64_t> shape, bool flat,
                   mlir::Type element, Term term);

/// Σ over a flat tensor of a number of elements known at run time.
mlir::Value sumElements(Emitter &e, mlir::Value elements, mlir::Type element,
                        Term term);

/// Σ over all rows of a space, at the current chunk of columns.
mlir::Value sumColumns(Emitter &e, llvm::ArrayRef<int64_t> shape,
                       mlir::Type element, Term term);

} // namespace tts::kernels

#endif // TTS_CONVERSION_TTSTOKERNELS_SUMS_H
