//===- Entries.cpp - views of the table's entries ------------------------===//
//
// Made once per session that asks, so that a tap allocates nothing per entry.
//
//===----------------------------------------------------------------------===//

#include "Runtime/Abi/Entries.h"

namespace tts::rt {

EntryViews::EntryViews(const Table &table, const Arena &arena) {
  operands.reserve(table.operands.size());
  for (const TtsOperand &o : table.operands) {
    const TtsBuffer &buffer = table.buffers[o.buffer];
    operands.push_back({table.name(buffer.name), arena.at(o.offset), o.size,
                        o.access, o.dtype, buffer.klass});
  }
  views.resize(table.entries.size());
  for (const TtsProgram &program : table.programs)
    for (uint32_t i = 0; i < program.num_entries; ++i) {
      uint32_t number = program.first_entry + i;
      const TtsEntry &entry = table.entries[number];
      TtsEntryView &view = views[number];
      view.number = number;
      view.index = i;
      view.program = table.name(program.name);
      view.program_kind = program.kind;
      view.bucket = program.bucket;
      view.range = entry.range;
      view.function = table.name(table.functions[entry.function].name);
      view.name = table.name(entry.name);
      view.location = table.name(entry.loc);
      view.operands = operands.data() + entry.first_operand;
      view.num_operands = entry.num_operands;
      view.scalars = table.scalars.first + entry.first_scalar;
      view.num_scalars = entry.num_scalars;
    }
}

bool Tap::after(uint32_t, uint32_t entry) {
  return function(user, &views[entry]) == 0;
}

} // namespace tts::rt
