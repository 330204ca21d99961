//===- OutputFile.h - files that are whole or not there -----*- C++ -*-===//

#ifndef TTS_LIB_DRIVER_OUTPUTFILE_H
#define TTS_LIB_DRIVER_OUTPUTFILE_H

#include "Failure.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace tts {

/// A file beside its target that goes away unless it is kept.
class OutputFile {
public:
  /// Makes `target`.tmp-XXXXXX; an error names the target.
  static llvm::Expected<OutputFile> create(llvm::StringRef target);
  OutputFile(OutputFile &&other);
  OutputFile &operator=(OutputFile &&) = delete;
  ~OutputFile();

  const std::string &getPath() const { return path; }
  /// Its whole content.
  llvm::Error write(llvm::StringRef bytes);
  /// Renames it onto its target.
  llvm::Error keep();

private:
  OutputFile(std::string target, std::string path)
      : target(std::move(target)), path(std::move(path)) {}

  std::string target, path;
};

/// Writes a whole file, or leaves what was there.
llvm::Error writeFile(llvm::StringRef path, llvm::StringRef text);

} // namespace tts

#endif // TTS_LIB_DRIVER_OUTPUTFILE_H
