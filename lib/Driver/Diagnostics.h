//===- Diagnostics.h - MLIR's diagnostics as one failure ----*- C++ -*-===//

#ifndef TTS_LIB_DRIVER_DIAGNOSTICS_H
#define TTS_LIB_DRIVER_DIAGNOSTICS_H

#include "Failure.h"
#include "mlir/IR/Diagnostics.h"

namespace tts {

/// Keeps the first error of a context, with its notes; prints warnings.
class FirstError : public mlir::ScopedDiagnosticHandler {
public:
  explicit FirstError(mlir::MLIRContext *context);

  /// The kept error as bad input; `place` and `todo` where it has none of its
  /// own.
  llvm::Error take(llvm::StringRef place, llvm::StringRef todo);

private:
  std::string place, what;
};

} // namespace tts

#endif // TTS_LIB_DRIVER_DIAGNOSTICS_H
