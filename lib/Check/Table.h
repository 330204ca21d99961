//===- Table.h - the step table, read without trust -------------*- C++ -*-===//
//
// Copies of the blob's records, with every reference checked once here so that
// what follows may index freely.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_LIB_CHECK_TABLE_H
#define TTS_LIB_CHECK_TABLE_H

#include "Check.h"
#include "tts-runtime/Format.h"

namespace tts::check {

struct Table {
  TtsTableHeader header;
  std::vector<TtsFunction> functions;
  std::vector<TtsProgram> programs;
  std::vector<TtsEntry> entries;
  std::vector<TtsOperand> operands;
  std::vector<int64_t> scalars;
  std::vector<TtsBuffer> buffers;
  std::vector<char> strings;
  std::string manifest;

  std::string name(uint32_t offset) const { return strings.data() + offset; }

  /// "forward[0]", "forward[0].1" (of slot 1), "zero", or "persistent".
  std::string programLabel(uint32_t program) const;
  /// "forward[0] entry 3 (encoder.0.matmul)", the entry counted in its program.
  std::string entryLabel(uint32_t program, uint32_t entry) const;
  std::string bufferLabel(uint32_t buffer) const;
};

/// Bytes of an element of a TtsDType; 0 for an unknown one.
uint64_t elementSize(int64_t dtype);

/// "parameters", …; empty for a number that is no class.
std::string className(uint32_t klass);
constexpr uint32_t numClasses = TTS_CLASS_BUFFERS + 1;

inline bool isPersistent(const TtsBuffer &buffer) {
  return buffer.program == TTS_NO_BUCKET;
}

/// True when the blob is well-formed in itself (docs/certificate.md).
bool readTable(const Bytes &blob, Report &report, Table &table);

/// Library calls have the operands that their scalars ask for.
/// `ranks` is the number of processes.
void checkLibraryCalls(const Table &table, uint64_t ranks, Report &report);

} // namespace tts::check

#endif // TTS_LIB_CHECK_TABLE_H
