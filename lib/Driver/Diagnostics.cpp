//===- Diagnostics.cpp - MLIR's diagnostics as one failure ---------------===//

#include "Diagnostics.h"

#include "tts/Dialect/Tts/IR/Names.h"

using namespace mlir;
using namespace tts;

/// An op's stable name and where it stands in a file, as far as both are known.
static std::string placeOf(Location loc) {
  std::string file;
  loc->walk([&](Location inner) {
    auto position = dyn_cast<FileLineColLoc>(inner);
    if (!position)
      return WalkResult::advance();
    file = getStableName(position);
    return WalkResult::interrupt();
  });
  std::string name = getStableName(loc);
  if (name == "unknown" || name == file)
    return file;
  return file.empty() ? name : file + ": " + name;
}

FirstError::FirstError(MLIRContext *context)
    : ScopedDiagnosticHandler(context) {
  setHandler([this](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() != DiagnosticSeverity::Error) {
      if (diagnostic.getSeverity() == DiagnosticSeverity::Warning)
        llvm::errs() << "warning: " << diagnostic.str() << "\n";
      return success();
    }
    if (!what.empty())
      return success();
    place = placeOf(diagnostic.getLocation());
    what = diagnostic.str();
    for (Diagnostic &note : diagnostic.getNotes())
      // The op as text says nothing that the place does not.
      if (!StringRef(note.str()).starts_with("see current operation"))
        what += " (" + note.str() + ")";
    return success();
  });
}

llvm::Error FirstError::take(StringRef defaultPlace, StringRef todo) {
  std::string text = what.empty() ? "failed without a word" : what;
  what.clear();
  std::string at = place.empty() ? defaultPlace.str() : place;
  // Our own messages say what to do after a semicolon.
  auto [fault, advice] = StringRef(text).rsplit("; ");
  if (advice.empty())
    return badInput(at, text, todo);
  return badInput(at, fault, advice);
}
