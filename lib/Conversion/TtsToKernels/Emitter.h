//===- Emitter.h - tensor values as vector code -----------------*- C++ -*-===//
//
// Computes any value of a kernel's body at one position: a scalar at a full
// multi-index, or 32 lanes along the last dimension. Producers are computed
// where they are read, so no value of a kernel but its results meets memory.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_CONVERSION_TTSTOKERNELS_EMITTER_H
#define TTS_CONVERSION_TTSTOKERNELS_EMITTER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace tts::kernels {

class Rules;

/// Lanes of every vector, on every machine: part of what a reduction means.
inline constexpr int64_t kLanes = 32;

/// Where in a tensor a value is computed.
struct Position {
  /// Indices of all dimensions, or of all but the last if `chunk`.
  llvm::SmallVector<mlir::Value> leading;
  /// The last dimension is the emitter's current chunk of columns.
  bool chunk = false;
  /// The tensor is seen as one dimension, which is the chunk.
  bool flat = false;
  /// In memory, the chunk stands so many columns further on than the emitter's.
  int64_t shift = 0;
  /// `leading` as one number, if known, in a tensor of the shape `rowSpace`.
  mlir::Value row;
  llvm::ArrayRef<int64_t> rowSpace;

  /// The same row of a tensor without the last dimension.
  Position ofRow() const;
  bool operator==(const Position &other) const;
};

class Emitter {
public:
  using Values = llvm::SmallVector<mlir::Value>;

  Emitter(mlir::ImplicitLocOpBuilder builder, const Rules &rules);

  //===-- values ----------------------------------------------------------===//

  /// The value at a position: a vector of lanes or, where the lanes are all
  /// the same, a scalar. A value of a half type is an f32 that the half type
  /// holds: ops compute in f32 and their results are rounded.
  mlir::Value emit(mlir::Value value, const Position &at);
  /// The same, always lanes if `at` is a chunk.
  mlir::Value emitLanes(mlir::Value value, const Position &at);
  /// The element at a full multi-index.
  mlir::Value emitScalar(mlir::Value value,
                         llvm::ArrayRef<mlir::Value> indices);
  /// Every operand at one position, all lanes if one of them is.
  Values emitOperands(mlir::Operation *op, const Position &at);

  //===-- small pieces of code --------------------------------------------===//

  mlir::ImplicitLocOpBuilder &builder() { return b; }
  /// An index constant, which stands at the kernel's start: scalars that are
  /// computed before a loop may use it.
  mlir::Value index(int64_t value);
  /// What numbers of an element type are computed in: f32 for a half type.
  mlir::Type computeType(mlir::Type element);
  mlir::Type computeTypeOf(mlir::Value tensor);
  /// A number of a type, or of the type (scalar or lanes) of `like`.
  mlir::Value constant(mlir::Type type, double value);
  mlir::Value integer(mlir::Type type, int64_t value);
  mlir::Value constantLike(mlir::Value like, double value) {
    return constant(like.getType(), value);
  }
  mlir::Value splat(mlir::Value scalar);
  /// The same as lanes.
  mlir::Value lanesOf(mlir::Value value) {
    return llvm::isa<mlir::VectorType>(value.getType()) ? value : splat(value);
  }
  /// Scalar or lanes as `like`.
  mlir::Value shapedLike(mlir::Value value, mlir::Value like);
  /// Lane numbers 0 … lanes-1 added to a scalar integer.
  mlir::Value iota(mlir::Value first, int64_t lanes = kLanes);
  /// Integer to float, or float to float rounded to nearest even.
  mlir::Value convertFloat(mlir::Value value, mlir::Type element);
  mlir::Value toI32(mlir::Value index);
  mlir::Value toI64(mlir::Value index);
  mlir::Value toIndex(mlir::Value integer);
  /// Whether the time step of `at` (dimension 1) is below lengths[batch]:
  /// one bit, or one per lane where time is the chunk.
  mlir::Value isValidTime(mlir::Value lengths, const Position &at);
  /// `otherwise` in the lanes beyond the last column, for reductions.
  mlir::Value whereActive(mlir::Value lanes, double otherwise);
  mlir::Value zeroInactive(mlir::Value lanes) { return whereActive(lanes, 0); }
  using Combine = llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)>;
  /// 32 lanes to one number: 16 with 16, 8 with 8, 4, 2, 1.
  mlir::Value combineLanes(mlir::Value lanes, Combine combine);
  mlir::Value sumLanes(mlir::Value lanes);

  //===-- results ---------------------------------------------------------===//

  /// Stores into every result of the kernel that returns `result`.
  void store(mlir::Value result, mlir::Value computed, const Position &at);
  bool isReturned(mlir::Value result) const;
  /// Whether `result` lies in the storage of the argument `argument`.
  bool sharesStorage(mlir::Value result, mlir::Value argument) const;
  /// Whether a value can be computed with its shape flattened.
  bool canFlatten(mlir::Value value) const;
  /// What the kernel has returned at `at`, read again.
  mlir::Value reload(mlir::Value result, const Position &at);
  /// `after` are made of `result`, the row that the kernel's row op makes: they
  /// are stored where it would be.
  void continueRow(mlir::Value result, llvm::ArrayRef<mlir::Value> after);
  /// The first pass over a row leaves `operand` in the memory of `result`,
  /// where the others find it.
  void keep(mlir::Value operand, mlir::Value result);

  //===-- memory ----------------------------------------------------------===//

  /// Where an argument or a result of the kernel lies; from now on, elsewhere.
  mlir::Value memoryOf(mlir::Value value) const;
  void place(mlir::Value value, mlir::Value memory);
  /// The values that `each` gives for the number `which` < `count`.
  Values choose(mlir::Value which, mlir::TypeRange types, size_t count,
                llvm::function_ref<Values(size_t)> each);
  /// The element, or the lanes of the current chunk, at an element offset of a
  /// flat memref.
  mlir::Value loadScalar(mlir::Value memory, mlir::Value offset);
  void storeScalar(mlir::Value scalar, mlir::Value memory, mlir::Value offset);
  mlir::Value loadLanes(mlir::Value memory, mlir::Value offset);
  void storeLanes(mlir::Value lanes, mlir::Value memory, mlir::Value offset);
  /// first + index·scale
  mlir::Value offset(mlir::Value first, mlir::Value index, int64_t scale);

  //===-- loops -----------------------------------------------------------===//

  /// The part of the range to compute, and the range as the loops below set it.
  mlir::Value lo, hi;
  int64_t range = 0;

  using Body = llvm::function_ref<Values(mlir::ValueRange)>;

  /// for (i = from; i < to; ++i), carrying values.
  Values loop(mlir::Value from, mlir::Value to, mlir::ValueRange carried,
              llvm::function_ref<Values(mlir::Value, mlir::ValueRange)> body);
  /// Runs over [0, columns) by chunks, carrying values; one last, masked chunk
  /// where 32 does not divide. Scalars that the body asks for are computed
  /// before the loop.
  Values chunks(int64_t columns, mlir::ValueRange carried, Body body);
  /// Runs over the elements [from, to) of a flat tensor by chunks, carrying
  /// values, one last, masked chunk where 32 does not divide.
  Values chunksBetween(mlir::Value from, mlir::Value to,
                       mlir::ValueRange carried, Body body);
  /// The kernel's range is `rows` of a space of `shape`; the body gets each
  /// row's position.
  void rangeOfRows(llvm::ArrayRef<int64_t> shape,
                   llvm::function_ref<void(const Position &)> body);
  /// The kernel's range is chunks of columns. With `hoist`, scalars that the
  /// body asks for are computed before the loop.
  void rangeOfChunks(int64_t columns, bool hoist,
                     llvm::function_ref<void()> body);
  /// The kernel's range is one task.
  void rangeOfOne(llvm::function_ref<void()> body);
  /// The position of row number `row` of a space, its last dimension chunked.
  Position rowPosition(mlir::Value row, llvm::ArrayRef<int64_t> shape);
  /// A multi-index from a linear one.
  Values delinearize(mlir::Value linear, llvm::ArrayRef<int64_t> shape);

  /// First column of the current chunk.
  mlir::Value column() const { return firstColumn; }

private:
  /// A stretch of code whose computed values do not outlive it.
  class Scope;
  Values fullChunks(mlir::Value from, mlir::Value to, mlir::ValueRange carried,
                    Body body);
  using Memo = llvm::SmallVector<
      std::pair<std::pair<mlir::Value, Position>, mlir::Value>>;

  mlir::Value load(mlir::Value memory, llvm::ArrayRef<int64_t> shape,
                   const Position &at);
  void storeTo(mlir::Value result, mlir::Value computed, const Position &at);
  /// Rounded as a value of `tensor`'s type.
  mlir::Value rounded(mlir::Value piece, mlir::Value tensor);
  mlir::Value address(llvm::ArrayRef<int64_t> shape, const Position &at);

  mlir::ImplicitLocOpBuilder b;
  const Rules &rules;
  mlir::Block *entry;
  llvm::DenseMap<int64_t, mlir::Value> indexConstants;
  llvm::DenseMap<mlir::Value, mlir::Value> memoryOfArgument;
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>> outputs;

  /// Scalars are computed before this op, if set, else where they are asked
  /// for.
  mlir::Operation *anchor = nullptr;
  mlir::Value firstColumn;
  mlir::Value mask;
  Memo scalars, lanes;

  mlir::Value row; ///< the row op's first result
  Values afterRow;
  llvm::DenseMap<mlir::Value, mlir::Value> keptIn; ///< operand to result
  llvm::SmallPtrSet<mlir::Value, 2> kept;
  unsigned pass = 0; ///< over the row, by chunks; from 1

  friend class KernelBuilder; // sets lo, hi and the memory
};

} // namespace tts::kernels

#endif // TTS_CONVERSION_TTSTOKERNELS_EMITTER_H
