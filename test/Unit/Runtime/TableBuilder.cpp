//===- TableBuilder.cpp - lays a step table out --------------------------===//
//
// The same layout as docs/step-table.md: header, sections at multiples of
// eight, manifest last.
//
//===----------------------------------------------------------------------===//

#include "TableBuilder.h"
#include <cstring>

namespace tts::test {

nlohmann::json tensor(const std::string &name, const char *dtype,
                      const std::vector<int> &shape, Slot slot) {
  nlohmann::json t = slot.slice();
  t["name"] = name;
  t["dtype"] = dtype;
  t["shape"] = shape;
  return t;
}

Slot TableBuilder::buffer(const std::string &name, TtsClass klass,
                          uint64_t bytes, TtsDType dtype) {
  Slot slot{uint32_t(buffers.size()), arena, bytes, dtype};
  TtsBuffer b{};
  b.name = text(name);
  b.klass = klass;
  b.program = b.last_program = TTS_NO_BUCKET;
  b.last_entry = UINT32_MAX;
  b.offset = arena;
  b.size = bytes;
  buffers.push_back(b);
  arena += (bytes + TTS_ARENA_ALIGNMENT - 1) / TTS_ARENA_ALIGNMENT *
           TTS_ARENA_ALIGNMENT;
  return slot;
}

void TableBuilder::program(const std::string &name, TtsProgramKind kind,
                           uint32_t bucket, uint32_t slot) {
  programs.push_back(
      {text(name), kind, bucket, uint32_t(entries.size()), 0, slot});
}

void TableBuilder::kernel(const std::string &name, TtsKernel kernel,
                          uint32_t range, const std::vector<Use> &operands) {
  entry(function(name, TTS_FUNCTION_KERNEL, kernel), name, range, operands, {});
}

void TableBuilder::library(const std::string &name,
                           const std::vector<Use> &operands,
                           const std::vector<int64_t> &scalars) {
  entry(function(name, TTS_FUNCTION_LIBRARY, nullptr), name, 0, operands,
        scalars);
}

uint32_t TableBuilder::text(const std::string &name) {
  uint32_t at = uint32_t(strings.size());
  strings += name + '\0';
  return at;
}

uint32_t TableBuilder::function(const std::string &name, TtsFunctionKind kind,
                                TtsKernel kernel) {
  functions.push_back({text(name), kind});
  kernels.push_back(kernel);
  return uint32_t(functions.size() - 1);
}

void TableBuilder::entry(uint32_t function, const std::string &name,
                         uint32_t range, const std::vector<Use> &uses,
                         const std::vector<int64_t> &numbers) {
  entries.push_back({function, text(name), 0, uint32_t(operands.size()),
                     uint32_t(uses.size()), uint32_t(scalars.size()),
                     uint32_t(numbers.size()), range});
  for (const Use &use : uses)
    operands.push_back({use.slot.offset, use.slot.size, use.access,
                        use.slot.index, use.slot.dtype, 0});
  scalars.insert(scalars.end(), numbers.begin(), numbers.end());
  programs.back().num_entries++;
}

std::vector<uint64_t> TableBuilder::build(nlohmann::json manifest) const {
  std::string json = manifest.dump();
  std::string blob(sizeof(TtsTableHeader), '\0');
  TtsTableHeader header{};
  auto put = [&](TtsRange &range, const void *data, size_t size, size_t count) {
    blob.resize((blob.size() + 7) / 8 * 8);
    range = {blob.size(), count};
    blob.append(static_cast<const char *>(data), size * count);
  };
  auto section = [&](TtsRange &range, const auto &records) {
    put(range, records.data(), sizeof(records[0]), records.size());
  };
  section(header.functions, functions);
  section(header.programs, programs);
  section(header.entries, entries);
  section(header.operands, operands);
  section(header.scalars, scalars);
  section(header.buffers, buffers);
  section(header.strings, strings);
  section(header.manifest, json);
  blob.resize((blob.size() + 7) / 8 * 8);
  std::memcpy(header.magic, TTS_TABLE_MAGIC, 8);
  header.version = TTS_TABLE_VERSION;
  header.header_bytes = sizeof(TtsTableHeader);
  header.total_bytes = blob.size();
  header.arena_bytes = arena;
  std::memcpy(blob.data(), &header, sizeof(header));
  std::vector<uint64_t> words(blob.size() / 8);
  std::memcpy(words.data(), blob.data(), blob.size());
  return words;
}

} // namespace tts::test
