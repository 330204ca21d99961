//===- Failure.h - errors as the contract prints them -------*- C++ -*-===//

#ifndef TTS_LIB_DRIVER_FAILURE_H
#define TTS_LIB_DRIVER_FAILURE_H

#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include <string>

namespace tts {

enum class ExitCode { BadInput = 1, BadUsage = 2, Infeasible = 3 };

/// `error: <place>: <what is wrong>; <what to do>` and its exit code.
class Failure : public llvm::ErrorInfo<Failure> {
public:
  static char ID;

  Failure(ExitCode code, std::string place, std::string what, std::string todo)
      : code(code), place(std::move(place)), what(std::move(what)),
        todo(std::move(todo)) {}

  /// One line, whatever the parts hold.
  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override {
    return llvm::inconvertibleErrorCode();
  }
  ExitCode getCode() const { return code; }

private:
  ExitCode code;
  std::string place, what, todo;
};

llvm::Error badInput(const llvm::Twine &place, const llvm::Twine &what,
                     const llvm::Twine &todo);
llvm::Error badUsage(const llvm::Twine &place, const llvm::Twine &what,
                     const llvm::Twine &todo);

/// Prints the first error on stderr and returns its exit code.
int reportFailure(llvm::Error error);

} // namespace tts

#endif // TTS_LIB_DRIVER_FAILURE_H
