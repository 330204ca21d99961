//===- Failure.cpp - errors as the contract prints them ------------------===//

#include "Failure.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace tts;

char Failure::ID = 0;

/// Without line breaks and runs of spaces, so that a report stays one line.
static std::string oneLine(llvm::StringRef text) {
  std::string line;
  for (char c : text) {
    bool isSpace = llvm::isSpace(c);
    if (isSpace && (line.empty() || line.back() == ' '))
      continue;
    line.push_back(isSpace ? ' ' : c);
  }
  return llvm::StringRef(line).rtrim(" .;").str();
}

void Failure::log(llvm::raw_ostream &os) const {
  os << "error: " << oneLine(place) << ": " << oneLine(what);
  if (!todo.empty())
    os << "; " << oneLine(todo);
}

llvm::Error tts::badInput(const llvm::Twine &place, const llvm::Twine &what,
                          const llvm::Twine &todo) {
  return llvm::make_error<Failure>(ExitCode::BadInput, place.str(), what.str(),
                                   todo.str());
}

llvm::Error tts::badUsage(const llvm::Twine &place, const llvm::Twine &what,
                          const llvm::Twine &todo) {
  return llvm::make_error<Failure>(ExitCode::BadUsage, place.str(), what.str(),
                                   todo.str());
}

int tts::reportFailure(llvm::Error error) {
  int code = 0;
  llvm::handleAllErrors(
      std::move(error),
      [&](const Failure &failure) {
        if (code)
          return;
        failure.log(llvm::errs());
        llvm::errs() << "\n";
        code = static_cast<int>(failure.getCode());
      },
      [&](const llvm::ErrorInfoBase &other) {
        if (code)
          return;
        llvm::errs() << "error: tts: " << oneLine(other.message())
                     << "; please report this\n";
        code = static_cast<int>(ExitCode::BadInput);
      });
  return code;
}
