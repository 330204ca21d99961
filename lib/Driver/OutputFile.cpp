//===- OutputFile.cpp - files that are whole or not there ----------------===//

#include "OutputFile.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

using namespace tts;

static llvm::Error cannotWrite(llvm::StringRef path, std::error_code code) {
  return badInput(path, "cannot be written (" + code.message() + ")",
                  "give a place that can be written to");
}

llvm::Expected<OutputFile> OutputFile::create(llvm::StringRef target) {
  llvm::SmallString<256> path;
  int descriptor;
  if (auto code = llvm::sys::fs::createUniqueFile(
          target + ".tmp-%%%%%%", descriptor, path, llvm::sys::fs::OF_None,
          llvm::sys::fs::all_read | llvm::sys::fs::all_write))
    return cannotWrite(target, code);
  llvm::raw_fd_ostream(descriptor, /*shouldClose=*/true).flush();
  llvm::sys::RemoveFileOnSignal(path);
  return OutputFile(target.str(), path.str().str());
}

OutputFile::OutputFile(OutputFile &&other)
    : target(std::move(other.target)), path(std::move(other.path)) {
  other.path.clear();
}

OutputFile::~OutputFile() {
  if (path.empty())
    return;
  llvm::sys::fs::remove(path);
  llvm::sys::DontRemoveFileOnSignal(path);
}

llvm::Error OutputFile::write(llvm::StringRef bytes) {
  std::error_code code;
  llvm::raw_fd_ostream os(path, code);
  if (code)
    return cannotWrite(target, code);
  os << bytes;
  os.close();
  if (!os.has_error())
    return llvm::Error::success();
  code = os.error();
  os.clear_error();
  return cannotWrite(target, code);
}

llvm::Error OutputFile::keep() {
  if (auto code = llvm::sys::fs::rename(path, target))
    return cannotWrite(target, code);
  llvm::sys::DontRemoveFileOnSignal(path);
  path.clear();
  return llvm::Error::success();
}

llvm::Error tts::writeFile(llvm::StringRef path, llvm::StringRef text) {
  auto file = OutputFile::create(path);
  if (!file)
    return file.takeError();
  if (auto error = file->write(text))
    return error;
  return file->keep();
}
