//===- Entries.h - the table's entries in the words of the C API ---------===//
//
// What Runtime.h shows of the step table, and the tap that is told about it.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_RUNTIME_ABI_ENTRIES_H
#define TTS_RUNTIME_ABI_ENTRIES_H

#include "Runtime/Abi/Table.h"
#include "Runtime/Device/Cpu/Executor.h"
#include "Runtime/Memory/Arena.h"
#include "tts-runtime/Runtime.h"
#include <vector>

namespace tts::rt {

/// Views of all entries; names are the table's, addresses the arena's.
class EntryViews {
public:
  EntryViews(const Table &table, const Arena &arena);

  const TtsEntryView &operator[](uint64_t number) const {
    return views[number];
  }
  uint64_t size() const { return views.size(); }

private:
  std::vector<TtsEntryOperand> operands;
  std::vector<TtsEntryView> views;
};

/// Hands each entry on to a caller's function.
class Tap : public EntryObserver {
public:
  explicit Tap(const EntryViews &views) : views(views) {}

  bool after(uint32_t program, uint32_t entry) override;

  TtsTap function = nullptr;
  void *user = nullptr;

private:
  const EntryViews &views;
};

} // namespace tts::rt

#endif // TTS_RUNTIME_ABI_ENTRIES_H
