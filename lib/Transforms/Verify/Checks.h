//===- Checks.h - the promises that levels are made of -------------------===//
// Each check says what is broken at its place and fails; it assumes no other
// check, so that a hand-written module gets a message instead of a crash.

#ifndef TTS_LIB_TRANSFORMS_VERIFY_CHECKS_H
#define TTS_LIB_TRANSFORMS_VERIFY_CHECKS_H

#include "mlir/IR/BuiltinOps.h"

namespace tts {

using Check = llvm::LogicalResult (*)(mlir::ModuleOp);

//===-- ops ---------------------------------------------------------------===//

/// Programs hold tts ops only.
llvm::LogicalResult checkOnlyTtsOps(mlir::ModuleOp module);
/// Every op has a name or a place in a file.
llvm::LogicalResult checkStableNames(mlir::ModuleOp module);
/// Every named size has a value in every bucket (`batch` has one anyway).
llvm::LogicalResult checkNamedSizes(mlir::ModuleOp module);

//===-- programs ----------------------------------------------------------===//

/// One training function, perhaps one infer, no other program.
llvm::LogicalResult checkTrainOnly(mlir::ModuleOp module);
/// The six programs of an update, once each, perhaps infer, and no training
/// function.
llvm::LogicalResult checkPrograms(mlir::ModuleOp module);
/// A role and name occur once among arguments and once among results.
llvm::LogicalResult checkUniqueRoles(mlir::ModuleOp module);
/// No argument without a reader, but for the accumulators that zero fills.
llvm::LogicalResult checkArgumentsUsed(mlir::ModuleOp module);
/// What forward stashes backward takes, and in the same types.
llvm::LogicalResult checkStash(mlir::ModuleOp module);
/// Every loss has a denominator, and the other way round.
llvm::LogicalResult checkDenominators(mlir::ModuleOp module);
/// infer reads the training function's parameters and inputs only, hands out
/// outputs only, and has no op that acts in training only.
llvm::LogicalResult checkInfer(mlir::ModuleOp module);
/// Two results are two values: they get storage of their own.
llvm::LogicalResult checkDistinctResults(mlir::ModuleOp module);

//===-- parameters --------------------------------------------------------===//

/// The same name is the same type everywhere, and frozen everywhere or nowhere.
llvm::LogicalResult checkParametersAgree(mlir::ModuleOp module);
/// Trainable parameters have a gradient, cleared and accumulated in place, and
/// an update; frozen ones none.
llvm::LogicalResult checkGradients(mlir::ModuleOp module);

//===-- from static shapes to machine code --------------------------------===//

/// Tensors of static shape without an encoding.
llvm::LogicalResult checkStaticShapes(mlir::ModuleOp module);
/// Floats are of the plan's element type.
llvm::LogicalResult checkElementTypes(mlir::ModuleOp module);
/// Where there are several ranks, `update` reads each gradient in one
/// all_reduce and nowhere else.
llvm::LogicalResult checkReducedOnce(mlir::ModuleOp module);
/// Programs hold launches, library calls and views only.
llvm::LogicalResult checkOnlyRtOps(mlir::ModuleOp module);
/// Programs are entries, every operand lies inside its buffer and the arena.
llvm::LogicalResult checkEntries(mlir::ModuleOp module);
/// Nothing but the LLVM dialect, no external symbol outside the ABI list.
llvm::LogicalResult checkSymbols(mlir::ModuleOp module);

} // namespace tts

#endif // TTS_LIB_TRANSFORMS_VERIFY_CHECKS_H
