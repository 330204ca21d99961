// Reads the blob's records and checks that the table is well-formed in itself.
#include "Table.h"

#include <algorithm>
#include <cstring>

using namespace tts::check;

std::string tts::check::className(uint32_t klass) {
  static const char *const names[] = {
      "parameters",  "half_copies", "gradients", "optimizer",   "ema",
      "activations", "batch",       "workspace", "collectives", "buffers"};
  return klass < numClasses ? names[klass] : "";
}

uint64_t tts::check::elementSize(int64_t dtype) {
  switch (dtype) {
  case TTS_F32:
  case TTS_I32:
    return 4;
  case TTS_F64:
  case TTS_I64:
    return 8;
  case TTS_BF16:
  case TTS_F16:
    return 2;
  case TTS_BYTES:
    return 1;
  }
  return 0;
}

std::string Table::programLabel(uint32_t program) const {
  if (program == TTS_NO_BUCKET)
    return "persistent";
  std::string label = name(programs[program].name);
  if (programs[program].bucket != TTS_NO_BUCKET)
    label += "[" + std::to_string(programs[program].bucket) + "]";
  if (programs[program].slot != 0)
    label += "." + std::to_string(programs[program].slot);
  return label;
}

std::string Table::entryLabel(uint32_t program, uint32_t entry) const {
  const TtsEntry &record = entries[programs[program].first_entry + entry];
  return programLabel(program) + " entry " + std::to_string(entry) + " (" +
         name(record.name) + ")";
}

std::string Table::bufferLabel(uint32_t buffer) const {
  return "buffer " + std::to_string(buffer) + " (" +
         name(buffers[buffer].name) + ")";
}

namespace {

class Reader {
public:
  Reader(const Bytes &blob, Report &report, Table &table)
      : blob(blob), report(report), table(table) {}

  bool read() {
    if (!readHeader() || !readRanges())
      return false;
    const size_t before = report.faults();
    checkStrings();
    if (report.faults() != before)
      return false; // labels need the names
    checkReferences();
    if (report.faults() != before)
      return false;
    checkKernels();
    return report.faults() == before;
  }

private:
  const Bytes &blob;
  Report &report;
  Table &table;
  std::vector<std::pair<uint64_t, uint64_t>> taken; ///< [begin, end) of ranges

  void fail(const std::string &what) { report.fail("step table", what); }

  bool readHeader() {
    if (blob.size() < sizeof(TtsTableHeader)) {
      fail("shorter than its header");
      return false;
    }
    std::memcpy(&table.header, blob.data(), sizeof(TtsTableHeader));
    const TtsTableHeader &header = table.header;
    if (std::memcmp(header.magic, TTS_TABLE_MAGIC, sizeof(header.magic)) != 0) {
      fail("no " TTS_TABLE_MAGIC " at its start");
      return false;
    }
    if (header.version != TTS_TABLE_VERSION ||
        header.header_bytes != sizeof(TtsTableHeader)) {
      report.fail("step table",
                  "version " + std::to_string(header.version) + ", not " +
                      std::to_string(TTS_TABLE_VERSION),
                  "use the tts-check of the compiler's release");
      return false;
    }
    if (header.total_bytes < sizeof(TtsTableHeader) ||
        header.total_bytes > blob.size()) {
      fail("total_bytes " + std::to_string(header.total_bytes) +
           " but the section has " + std::to_string(blob.size()));
      return false;
    }
    if (std::any_of(blob.begin() + header.total_bytes, blob.end(),
                    [](uint8_t byte) { return byte != 0; })) {
      fail("bytes follow its end");
      return false;
    }
    taken.push_back({0, sizeof(TtsTableHeader)});
    return true;
  }

  template <typename Record>
  bool readRange(const char *what, const TtsRange &range,
                 std::vector<Record> &records) {
    const uint64_t total = table.header.total_bytes;
    if (range.offset % 8 != 0 || range.offset > total ||
        range.count > (total - range.offset) / sizeof(Record)) {
      fail(std::string(what) + " lie outside the blob or are misaligned");
      return false;
    }
    if (range.count == 0)
      return true;
    const uint64_t bytes = range.count * sizeof(Record);
    records.resize(range.count);
    std::memcpy(static_cast<void *>(records.data()), blob.data() + range.offset,
                bytes);
    taken.push_back({range.offset, range.offset + bytes});
    return true;
  }

  bool readRanges() {
    const TtsTableHeader &header = table.header;
    std::vector<char> manifest;
    if (!readRange("functions", header.functions, table.functions) ||
        !readRange("programs", header.programs, table.programs) ||
        !readRange("entries", header.entries, table.entries) ||
        !readRange("operands", header.operands, table.operands) ||
        !readRange("scalars", header.scalars, table.scalars) ||
        !readRange("buffers", header.buffers, table.buffers) ||
        !readRange("strings", header.strings, table.strings) ||
        !readRange("manifest", header.manifest, manifest))
      return false;
    table.manifest.assign(manifest.begin(), manifest.end());
    std::sort(taken.begin(), taken.end());
    for (size_t i = 1; i < taken.size(); ++i)
      if (taken[i].first < taken[i - 1].second) {
        fail("two sections overlap");
        return false;
      }
    return true;
  }

  void checkName(const char *what, uint32_t name) {
    if (name >= table.strings.size())
      fail(std::string("the name of a ") + what + " lies outside the strings");
  }

  void checkStrings() {
    if (table.strings.empty() || table.strings.back() != 0) {
      fail("the strings do not end with a zero byte");
      return;
    }
    for (const TtsFunction &function : table.functions)
      checkName("function", function.name);
    for (const TtsProgram &program : table.programs)
      checkName("program", program.name);
    for (const TtsEntry &entry : table.entries) {
      checkName("entry", entry.name);
      checkName("entry's location", entry.loc);
    }
    for (const TtsBuffer &buffer : table.buffers) {
      checkName("buffer", buffer.name);
      checkName("buffer's location", buffer.loc);
    }
  }

  void checkReferences() {
    uint64_t nextEntry = 0, nextOperand = 0;
    for (size_t i = 0; i < table.programs.size(); ++i) {
      const TtsProgram &program = table.programs[i];
      if (program.kind >= TTS_NUM_PROGRAM_KINDS)
        fail("program " + std::to_string(i) + " has no known kind");
      if (program.first_entry != nextEntry)
        fail("program " + std::to_string(i) +
             " does not start where the one before ends");
      nextEntry += program.num_entries;
    }
    if (nextEntry != table.entries.size())
      fail("programs have " + std::to_string(nextEntry) +
           " entries, the table " + std::to_string(table.entries.size()));
    for (size_t i = 0; i < table.entries.size(); ++i) {
      const TtsEntry &entry = table.entries[i];
      const std::string label = "entry " + std::to_string(i);
      if (entry.function >= table.functions.size())
        fail(label + " calls a function that is not there");
      if (entry.first_operand != nextOperand)
        fail(label + "'s operands do not start where those before end");
      nextOperand += entry.num_operands;
      if (uint64_t(entry.first_scalar) + entry.num_scalars >
          table.scalars.size())
        fail(label + "'s scalars lie outside the table");
    }
    if (nextOperand != table.operands.size())
      fail("entries have " + std::to_string(nextOperand) +
           " operands, the table " + std::to_string(table.operands.size()));
    for (size_t i = 0; i < table.operands.size(); ++i) {
      const TtsOperand &operand = table.operands[i];
      if (operand.access < TTS_READ || operand.access > TTS_READ_WRITE)
        fail("operand " + std::to_string(i) + " neither reads nor writes");
      if (operand.buffer >= table.buffers.size())
        fail("operand " + std::to_string(i) + " is of no buffer");
      if (operand.dtype > TTS_BYTES || operand.reserved != 0)
        fail("operand " + std::to_string(i) + " has no known dtype");
      else if (operand.size % elementSize(operand.dtype) != 0)
        fail("operand " + std::to_string(i) + " ends inside an element");
    }
    for (size_t i = 0; i < table.buffers.size(); ++i)
      checkBuffer(i);
  }

  void checkBuffer(size_t index) {
    const TtsBuffer &buffer = table.buffers[index];
    const std::string label = "buffer " + std::to_string(index);
    if (buffer.klass >= numClasses)
      fail(label + " has no known class");
    if (isPersistent(buffer)) {
      if (buffer.last_program != TTS_NO_BUCKET || buffer.first_entry != 0 ||
          buffer.last_entry != UINT32_MAX)
        fail(label + " is persistent but not live always");
      return;
    }
    if (buffer.program >= table.programs.size() ||
        buffer.last_program >= table.programs.size()) {
      fail(label + " is live in a program that is not there");
      return;
    }
    const TtsProgram &first = table.programs[buffer.program];
    const TtsProgram &last = table.programs[buffer.last_program];
    if (buffer.first_entry >= first.num_entries ||
        buffer.last_entry >= last.num_entries)
      fail(label + " is live beyond its program's end");
    if (buffer.program == buffer.last_program) {
      if (buffer.first_entry > buffer.last_entry)
        fail(label + " ends before it begins");
    } else if (first.kind != TTS_PROGRAM_FORWARD ||
               last.kind != TTS_PROGRAM_BACKWARD ||
               first.bucket != last.bucket || first.slot != last.slot) {
      fail(label + " outlives its program and is no stash");
    }
  }

  /// A kernel is one piece of code: its operands are alike everywhere.
  void checkKernels() {
    std::vector<const TtsEntry *> example(table.functions.size(), nullptr);
    for (uint32_t p = 0; p < table.programs.size(); ++p)
      for (uint32_t e = 0; e < table.programs[p].num_entries; ++e) {
        const TtsEntry &entry =
            table.entries[table.programs[p].first_entry + e];
        const TtsFunction &function = table.functions[entry.function];
        if (function.kind != TTS_FUNCTION_KERNEL)
          continue;
        const TtsEntry *&first = example[entry.function];
        if (!first)
          first = &entry;
        if (entry.range == 0)
          report.fail(table.entryLabel(p, e), "a kernel over nothing");
        if (!haveLikeOperands(*first, entry))
          report.fail(table.entryLabel(p, e),
                      "other operands than its kernel " +
                          table.name(function.name) + " has elsewhere");
      }
    for (const TtsFunction &function : table.functions)
      if (function.kind > TTS_FUNCTION_LIBRARY)
        fail("function " + table.name(function.name) + " has no known kind");
  }

  bool haveLikeOperands(const TtsEntry &a, const TtsEntry &b) const {
    if (a.num_operands != b.num_operands)
      return false;
    for (uint32_t i = 0; i < a.num_operands; ++i) {
      const TtsOperand &one = table.operands[a.first_operand + i];
      const TtsOperand &other = table.operands[b.first_operand + i];
      if (one.access != other.access || one.dtype != other.dtype)
        return false;
    }
    return true;
  }
};

} // namespace

bool tts::check::readTable(const Bytes &blob, Report &report, Table &table) {
  return Reader(blob, report, table).read();
}
