//===- Compilation.h - one model on its way through phases --*- C++ -*-===//

#ifndef TTS_LIB_DRIVER_COMPILATION_H
#define TTS_LIB_DRIVER_COMPILATION_H

#include "BatchSetting.h"
#include "Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"
#include "tts/Pipelines/Planning.h"

namespace tts {

inline constexpr llvm::StringLiteral kToolVersion = "tts-compile 0.1";

/// What both tools do: read the model, put flags over it, differentiate, plan,
/// report. Every step returns the contract's one-line error.
class Compilation {
public:
  /// `timing` gets a timer per phase.
  Compilation(mlir::MLIRContext &context, const PlanningFlags &flags,
              mlir::TimingScope &timing)
      : context(context), flags(flags), timing(timing), diagnostics(&context) {}

  /// Reads `path` ("-" is stdin) and applies the flags.
  llvm::Error load(llvm::StringRef path);
  llvm::Error differentiate();
  /// Wants the programs under the plan, even where it is looked up.
  void needProgram() { needsProgram = true; }
  /// Chooses, prints table and explanation, writes --plan-json. Exit 3 when
  /// nothing fits.
  llvm::Error plan();
  /// Runs phases on the planned module itself.
  llvm::Error run(Phase first, Phase last);

  /// A failure of `what` that diagnostics have explained.
  llvm::Error failure(llvm::StringRef todo);

  mlir::ModuleOp getModule() { return *module; }
  const PlanRequest &getRequest() const { return request; }
  PlanResult &getPlan() { return *result; }
  llvm::StringRef getPath() const { return path; }
  llvm::StringRef getModelHash() const { return modelHash; }
  const PlanningFlags &getFlags() const { return flags; }
  mlir::TimingScope &getTiming() { return timing; }
  /// What is otherwise than in the model's experiment, in words.
  std::vector<std::string> getChanges() const;

private:
  llvm::Error choose();
  llvm::Error choose(int64_t batch);
  llvm::Error lowerBatch();
  bool mayLowerBatch(int64_t least);

  mlir::MLIRContext &context;
  const PlanningFlags &flags;
  mlir::TimingScope &timing;
  FirstError diagnostics;
  std::string path, modelHash;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  PlanRequest request;
  std::optional<BatchSetting> batch;
  std::optional<PlanResult> result;
  std::vector<std::string> changes; ///< but for the batch's
  bool needsProgram = false;
  std::string loweredBatch; ///< or "": it was kept
};

/// SHA-256 in lower-case hexadecimal digits.
std::string sha256(llvm::StringRef bytes);

} // namespace tts

#endif // TTS_LIB_DRIVER_COMPILATION_H
