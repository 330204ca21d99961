//===- TtsDialect.h - the tts dialect: ops, attributes, interfaces -------===//

#ifndef TTS_DIALECT_TTS_IR_TTSDIALECT_H
#define TTS_DIALECT_TTS_IR_TTSDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include <optional>

namespace tts {
template <typename ConcreteType>
class KeepsPaddingZero
    : public mlir::OpTrait::TraitBase<ConcreteType, KeepsPaddingZero> {};
template <typename ConcreteType>
class Pointwise : public mlir::OpTrait::TraitBase<ConcreteType, Pointwise> {};
template <typename ConcreteType>
class Indexing : public mlir::OpTrait::TraitBase<ConcreteType, Indexing> {};
template <typename ConcreteType>
class NeedsWholeBatch
    : public mlir::OpTrait::TraitBase<ConcreteType, NeedsWholeBatch> {};
template <typename ConcreteType>
class Alias : public mlir::OpTrait::TraitBase<ConcreteType, Alias> {};

/// How an op takes a float operand or gives a float result in a program of
/// mixed precision.
enum class Precision {
  Full,    ///< f32
  Half,    ///< the plan's half type
  Follows, ///< the type that all which follow have
  Either, ///< operand: as it comes; result: half, f32 where all readers want it
};
} // namespace tts

#include "tts/Dialect/Tts/IR/TtsInterfaces.h.inc"
#include "tts/Dialect/Tts/IR/TtsOpsDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "tts/Dialect/Tts/IR/TtsOpsAttrs.h.inc"

#define GET_OP_CLASSES
#include "tts/Dialect/Tts/IR/TtsOps.h.inc"

namespace tts {
/// Of one rank's shard of a value, as `tts.shard` makes it.
mlir::RankedTensorType getShardType(mlir::RankedTensorType type, int64_t ranks);
} // namespace tts

#endif // TTS_DIALECT_TTS_IR_TTSDIALECT_H
