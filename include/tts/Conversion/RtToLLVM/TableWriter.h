//===- TableWriter.h - the step table as bytes --------------*- C++ -*-===//

#ifndef TTS_CONVERSION_RTTOLLVM_TABLEWRITER_H
#define TTS_CONVERSION_RTTOLLVM_TABLEWRITER_H

#include "tts-runtime/Format.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include <string>
#include <vector>

namespace tts {

/// Collects the records of one step table in order and lays them out as
/// Format.h says. Equal strings and equal functions are stored once.
class TableWriter {
public:
  TableWriter();

  /// The offset of `text` in the strings section.
  uint32_t addString(llvm::StringRef text);

  /// The index of a function, added at its first use.
  uint32_t addFunction(llvm::StringRef name, TtsFunctionKind kind);

  /// Entries that follow belong to this program.
  void beginProgram(llvm::StringRef name, TtsProgramKind kind, uint32_t bucket,
                    uint32_t slot = 0);

  void addEntry(uint32_t function, llvm::StringRef name, llvm::StringRef loc,
                llvm::ArrayRef<TtsOperand> operands,
                llvm::ArrayRef<int64_t> scalars, uint32_t range);

  /// `buffer`'s name and loc are set from the texts.
  void addBuffer(llvm::StringRef name, llvm::StringRef loc, TtsBuffer buffer);

  size_t numFunctions() const { return functions.size(); }
  size_t numEntries() const { return entries.size(); }

  /// The blob.
  std::string write(uint64_t arenaBytes, llvm::StringRef manifest) const;

private:
  std::string strings;
  llvm::StringMap<uint32_t> stringOffsets, functionIndices;
  std::vector<TtsFunction> functions;
  std::vector<TtsProgram> programs;
  std::vector<TtsEntry> entries;
  std::vector<TtsOperand> operands;
  std::vector<int64_t> scalars;
  std::vector<TtsBuffer> buffers;
};

} // namespace tts

#endif // TTS_CONVERSION_RTTOLLVM_TABLEWRITER_H
