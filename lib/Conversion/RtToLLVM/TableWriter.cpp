//===- TableWriter.cpp - the step table as bytes -------------------------===//

#include "tts/Conversion/RtToLLVM/TableWriter.h"

#include "llvm/Support/MathExtras.h"
#include <cstring>

using namespace tts;

namespace {
/// Appends a section at the next multiple of eight bytes.
TtsRange append(std::string &blob, const void *records, size_t count,
                size_t recordBytes) {
  blob.resize(llvm::alignTo(blob.size(), 8), '\0');
  TtsRange range{blob.size(), count};
  blob.append(static_cast<const char *>(records), count * recordBytes);
  return range;
}

template <typename Record>
TtsRange append(std::string &blob, const std::vector<Record> &records) {
  return append(blob, records.data(), records.size(), sizeof(Record));
}
} // namespace

TableWriter::TableWriter() { addString(""); }

uint32_t TableWriter::addString(llvm::StringRef text) {
  auto [it, isNew] = stringOffsets.try_emplace(text, strings.size());
  if (isNew) {
    strings.append(text.begin(), text.end());
    strings.push_back('\0');
  }
  return it->second;
}

uint32_t TableWriter::addFunction(llvm::StringRef name, TtsFunctionKind kind) {
  auto [it, isNew] = functionIndices.try_emplace(name, functions.size());
  if (isNew)
    functions.push_back({addString(name), static_cast<uint32_t>(kind)});
  return it->second;
}

void TableWriter::beginProgram(llvm::StringRef name, TtsProgramKind kind,
                               uint32_t bucket, uint32_t slot) {
  programs.push_back({addString(name), static_cast<uint32_t>(kind), bucket,
                      static_cast<uint32_t>(entries.size()), 0, slot});
}

void TableWriter::addEntry(uint32_t function, llvm::StringRef name,
                           llvm::StringRef loc,
                           llvm::ArrayRef<TtsOperand> entryOperands,
                           llvm::ArrayRef<int64_t> entryScalars,
                           uint32_t range) {
  ++programs.back().num_entries;
  entries.push_back({function, addString(name), addString(loc),
                     static_cast<uint32_t>(operands.size()),
                     static_cast<uint32_t>(entryOperands.size()),
                     static_cast<uint32_t>(scalars.size()),
                     static_cast<uint32_t>(entryScalars.size()), range});
  operands.insert(operands.end(), entryOperands.begin(), entryOperands.end());
  scalars.insert(scalars.end(), entryScalars.begin(), entryScalars.end());
}

void TableWriter::addBuffer(llvm::StringRef name, llvm::StringRef loc,
                            TtsBuffer buffer) {
  buffer.name = addString(name);
  buffer.loc = addString(loc);
  buffers.push_back(buffer);
}

std::string TableWriter::write(uint64_t arenaBytes,
                               llvm::StringRef manifest) const {
  TtsTableHeader header = {};
  std::memcpy(header.magic, TTS_TABLE_MAGIC, sizeof(header.magic));
  header.version = TTS_TABLE_VERSION;
  header.header_bytes = sizeof(TtsTableHeader);
  header.arena_bytes = arenaBytes;

  std::string blob(sizeof(TtsTableHeader), '\0');
  header.functions = append(blob, functions);
  header.programs = append(blob, programs);
  header.entries = append(blob, entries);
  header.operands = append(blob, operands);
  header.scalars = append(blob, scalars);
  header.buffers = append(blob, buffers);
  header.strings = append(blob, strings.data(), strings.size(), 1);
  header.manifest = append(blob, manifest.data(), manifest.size(), 1);
  header.total_bytes = blob.size();
  std::memcpy(blob.data(), &header, sizeof(header));
  return blob;
}
