//===- RtDialect.h - the rt dialect: entries of the step table -----------===//

#ifndef TTS_DIALECT_RT_IR_RTDIALECT_H
#define TTS_DIALECT_RT_IR_RTDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "tts/Dialect/Rt/IR/RtOpsDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "tts/Dialect/Rt/IR/RtOpsAttrs.h.inc"

#define GET_OP_CLASSES
#include "tts/Dialect/Rt/IR/RtOps.h.inc"

namespace tts::rt {
/// Unit attribute of a func.func that is a kernel.
inline constexpr llvm::StringLiteral kKernelAttr = "rt.kernel";
/// i64 attribute of a kernel: its parallel range, set by TtsToKernels.
inline constexpr llvm::StringLiteral kRangeAttr = "rt.range";
/// Array of {name, range, numbers} on a kernel whose code serves several: its
/// argument before lo and hi is a table of i64, each one's own numbers.
inline constexpr llvm::StringLiteral kInstancesAttr = "rt.instances";
/// i64 result attribute of a kernel: the argument whose storage it takes.
inline constexpr llvm::StringLiteral kTiedAttr = "rt.tied";

//===-- of the module, set by Memory --------------------------------------===//

/// i64: bytes of the arena.
inline constexpr llvm::StringLiteral kArenaAttr = "rt.arena_bytes";
/// i64: its leading part that outlives a step (states, batch, scalars).
inline constexpr llvm::StringLiteral kPersistentAttr = "rt.persistent_bytes";
/// Array of #rt.buffer; an access's `buffer` is an index into it.
inline constexpr llvm::StringLiteral kBuffersAttr = "rt.buffers";
/// Dictionary with the structure of the table's JSON manifest.
inline constexpr llvm::StringLiteral kManifestAttr = "rt.manifest";
/// i64s: which role of how many the module's table is (`TtsRole`); 0 of 1
/// where they are absent.
inline constexpr llvm::StringLiteral kRoleAttr = "rt.role";
inline constexpr llvm::StringLiteral kRolesAttr = "rt.roles";
/// i64 of a library call, or of a tts op that is to become one: bytes of
/// scratch the library asks for; -1 on an rt.gemm where it has no
/// implementation that keeps to them and one is generated. Set by the target.
inline constexpr llvm::StringLiteral kScratchAttr = "rt.scratch";
/// Unit on a collective: the entries behind it run beside it, until one touches
/// what it is not through with.
inline constexpr llvm::StringLiteral kAheadAttr = "rt.ahead";
} // namespace tts::rt

#endif // TTS_DIALECT_RT_IR_RTDIALECT_H
