//===- Table.h - a checked view of the step table ------------------------===//
//
// Reads the blob in place. The constructor checks every offset, index and name
// once, so that nobody who holds a Table has to check again.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_RUNTIME_ABI_TABLE_H
#define TTS_RUNTIME_ABI_TABLE_H

#include "tts-runtime/Format.h"
#include <string_view>

namespace tts::rt {

/// An array of records inside the blob.
template <typename T> struct Records {
  const T *first = nullptr;
  uint64_t count = 0;

  const T *begin() const { return first; }
  const T *end() const { return first + count; }
  const T &operator[](uint64_t i) const { return first[i]; }
  uint64_t size() const { return count; }
};

class Table {
public:
  /// `blob` must stay alive and be eight-byte aligned. `size` is the number of
  /// bytes that may be read; the header's own total is believed when 0.
  explicit Table(const void *blob, uint64_t size = 0);

  uint64_t arenaBytes() const { return header->arena_bytes; }
  std::string_view manifest() const;
  /// The NUL-terminated name at an offset of the strings section.
  const char *name(uint32_t offset) const { return strings.first + offset; }

  Records<TtsFunction> functions;
  Records<TtsProgram> programs;
  Records<TtsEntry> entries;
  Records<TtsOperand> operands;
  Records<int64_t> scalars;
  Records<TtsBuffer> buffers;

private:
  void checkFunctions() const;
  void checkPrograms() const;
  void checkEntries() const;
  void checkOperands() const;
  void checkBuffers() const;

  const TtsTableHeader *header;
  Records<char> strings;
};

} // namespace tts::rt

#endif // TTS_RUNTIME_ABI_TABLE_H
