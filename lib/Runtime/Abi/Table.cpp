//===- Table.cpp - checks of the step table ------------------------------===//
//
// A damaged or foreign table ends here, before anything is run from it.
//
//===----------------------------------------------------------------------===//

#include "Runtime/Abi/Table.h"
#include "Runtime/Abi/Error.h"
#include <cstring>
#include <string>

namespace tts::rt {

namespace {

[[noreturn]] void damaged(const std::string &what) {
  throw Error(Exit::Refused, "step table", what,
              "recompile the model with this version of tts-compile");
}

void require(bool holds, const char *section, uint64_t index,
             const char *what) {
  if (!holds)
    damaged(std::string(section) + " " + std::to_string(index) + ": " + what);
}

/// [first, first + count) inside [0, size), without overflow.
bool inside(uint64_t first, uint64_t count, uint64_t size) {
  return first <= size && count <= size - first;
}

} // namespace

Table::Table(const void *blob, uint64_t size)
    : header(static_cast<const TtsTableHeader *>(blob)) {
  if (size && size < sizeof(TtsTableHeader))
    damaged("it is shorter than its header");
  if (std::memcmp(header->magic, TTS_TABLE_MAGIC, sizeof(header->magic)) != 0)
    damaged("the magic bytes are not " TTS_TABLE_MAGIC);
  if (header->version != TTS_TABLE_VERSION ||
      header->header_bytes != sizeof(TtsTableHeader))
    damaged("version " + std::to_string(header->version) +
            " is not the runtime's " + std::to_string(TTS_TABLE_VERSION));
  if (header->total_bytes < sizeof(TtsTableHeader) ||
      (size && header->total_bytes > size))
    damaged("it says " + std::to_string(header->total_bytes) +
            " bytes but has " + std::to_string(size));

  auto take = [&](auto &records, TtsRange range, const char *name) {
    using T =
        std::remove_const_t<std::remove_reference_t<decltype(records[0])>>;
    if (range.offset % 8 != 0 || range.offset > header->total_bytes ||
        range.count > (header->total_bytes - range.offset) / sizeof(T))
      damaged(std::string("section ") + name + " reaches outside the table");
    records.first = reinterpret_cast<const T *>(
        static_cast<const char *>(blob) + range.offset);
    records.count = range.count;
  };
  take(functions, header->functions, "functions");
  take(programs, header->programs, "programs");
  take(entries, header->entries, "entries");
  take(operands, header->operands, "operands");
  take(scalars, header->scalars, "scalars");
  take(buffers, header->buffers, "buffers");
  take(strings, header->strings, "strings");
  Records<char> json;
  take(json, header->manifest, "manifest");
  if (strings.size() == 0 || strings[strings.size() - 1] != '\0')
    damaged("the strings section does not end with a NUL");

  checkFunctions();
  checkPrograms();
  checkEntries();
  checkOperands();
  checkBuffers();
}

std::string_view Table::manifest() const {
  return {reinterpret_cast<const char *>(header) + header->manifest.offset,
          header->manifest.count};
}

void Table::checkFunctions() const {
  for (uint64_t i = 0; i < functions.size(); ++i) {
    require(functions[i].name < strings.size(), "function", i,
            "its name lies outside the strings");
    require(functions[i].kind <= TTS_FUNCTION_LIBRARY, "function", i,
            "its kind is unknown");
  }
}

void Table::checkPrograms() const {
  for (uint64_t i = 0; i < programs.size(); ++i) {
    const TtsProgram &p = programs[i];
    require(p.name < strings.size(), "program", i,
            "its name lies outside the strings");
    require(p.kind < TTS_NUM_PROGRAM_KINDS, "program", i,
            "its kind is unknown");
    require(inside(p.first_entry, p.num_entries, entries.size()), "program", i,
            "its entries lie outside the table");
  }
}

void Table::checkEntries() const {
  for (uint64_t i = 0; i < entries.size(); ++i) {
    const TtsEntry &e = entries[i];
    require(e.function < functions.size(), "entry", i,
            "its function does not exist");
    require(e.name < strings.size() && e.loc < strings.size(), "entry", i,
            "its name or location lies outside the strings");
    require(inside(e.first_operand, e.num_operands, operands.size()), "entry",
            i, "its operands lie outside the table");
    require(inside(e.first_scalar, e.num_scalars, scalars.size()), "entry", i,
            "its scalars lie outside the table");
  }
}

void Table::checkOperands() const {
  for (uint64_t i = 0; i < operands.size(); ++i) {
    const TtsOperand &o = operands[i];
    require(o.buffer < buffers.size(), "operand", i,
            "its buffer does not exist");
    const TtsBuffer &b = buffers[o.buffer];
    require(o.offset >= b.offset && inside(o.offset - b.offset, o.size, b.size),
            "operand", i, "it reaches outside its buffer");
    require(o.access >= TTS_READ && o.access <= TTS_READ_WRITE, "operand", i,
            "its access is unknown");
    require(o.dtype <= TTS_BYTES, "operand", i, "its dtype is unknown");
  }
}

void Table::checkBuffers() const {
  for (uint64_t i = 0; i < buffers.size(); ++i) {
    const TtsBuffer &b = buffers[i];
    require(b.name < strings.size() && b.loc < strings.size(), "buffer", i,
            "its name or location lies outside the strings");
    require(b.klass <= TTS_CLASS_BUFFERS, "buffer", i, "its class is unknown");
    require(b.offset % TTS_ARENA_ALIGNMENT == 0, "buffer", i,
            "it is not aligned to a cache line");
    require(inside(b.offset, b.size, header->arena_bytes), "buffer", i,
            "it reaches outside the arena");
  }
}

} // namespace tts::rt
