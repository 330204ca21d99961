//===- Programs.h - the programs that @train becomes ---------------------===//

#ifndef TTS_LIB_TRANSFORMS_DIFFERENTIATE_PROGRAMS_H
#define TTS_LIB_TRANSFORMS_DIFFERENTIATE_PROGRAMS_H

#include "Activity.h"
#include "TrainFunction.h"

namespace tts {

/// A value of @train that forward returns and backward takes.
struct StashEntry {
  std::string name;
  mlir::Value value;
};

/// Replaces ops that keep states by pure ones, and notes each state's next
/// value. Fails, with a message, on a state that not exactly one op advances.
llvm::LogicalResult expandStates(TrainFunction &train);

/// @backward; fills `stash` with what it reads of forward.
llvm::FailureOr<mlir::func::FuncOp>
buildBackward(TrainFunction &train, const Activity &activity,
              llvm::SmallVectorImpl<StashEntry> &stash);

mlir::func::FuncOp buildForward(TrainFunction &train,
                                llvm::ArrayRef<StashEntry> stash);
/// Fails, with a message, on a denominator that depends on a parameter.
llvm::FailureOr<mlir::func::FuncOp> buildDenominators(TrainFunction &train);
mlir::func::FuncOp buildEval(TrainFunction &train);
mlir::func::FuncOp buildZero(TrainFunction &train);
/// Fails, with a message, on module attributes that say nothing sensible.
llvm::FailureOr<mlir::func::FuncOp> buildUpdate(mlir::ModuleOp module,
                                                TrainFunction &train);

} // namespace tts

#endif // TTS_LIB_TRANSFORMS_DIFFERENTIATE_PROGRAMS_H
