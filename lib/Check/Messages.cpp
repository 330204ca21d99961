// A stage's messages, by its own table.
#include "Messages.h"

#include <map>
#include <set>
#include <tuple>

using namespace tts::check;

namespace {

class Messages {
public:
  Messages(const Stage &stage, Report &report)
      : table(*stage.table), stages(stage.manifest->stages),
        programs(*stage.programs), report(report) {}

  void check() {
    findOutboxes();
    for (uint32_t p = 0; p < table.programs.size(); ++p)
      for (uint32_t e = 0; e < table.programs[p].num_entries; ++e)
        checkEntry(p, e);
    for (const Programs::Bucket &bucket : programs.buckets)
      for (const auto *slots : {&bucket.forward, &bucket.backward})
        for (uint32_t program : *slots)
          if (ofProgram[program] != ofProgram[slots->front()])
            report.fail(table.programLabel(program),
                        "has other messages than slot 0");
  }

private:
  const Table &table;
  const Stages &stages;
  const Programs &programs;
  Report &report;
  std::set<uint32_t> outboxes; ///< buffers
  /// A message as its program has it: function, stage, channel, bytes.
  using Message = std::tuple<std::string, int64_t, int64_t, uint64_t>;
  std::map<uint32_t, std::vector<Message>> ofProgram;
  std::map<int64_t, uint32_t> owners; ///< a channel's first program

  const TtsEntry &entryOf(uint32_t p, uint32_t e) const {
    return table.entries[table.programs[p].first_entry + e];
  }
  std::string functionOf(const TtsEntry &entry) const {
    return table.name(table.functions[entry.function].name);
  }

  void findOutboxes() {
    for (const TtsEntry &entry : table.entries)
      if (functionOf(entry) == "rt.send")
        outboxes.insert(table.operands[entry.first_operand + 1].buffer);
  }

  void checkEntry(uint32_t p, uint32_t e) {
    const TtsEntry &entry = entryOf(p, e);
    const std::string function = functionOf(entry);
    const bool sends = function == "rt.send";
    for (uint32_t i = 0; i < entry.num_operands; ++i)
      if (!(sends && i == 1) &&
          outboxes.count(table.operands[entry.first_operand + i].buffer))
        report.fail(table.entryLabel(p, e),
                    "touches an outbox, whose message may be under way");
    if (!sends && function != "rt.recv")
      return;
    const int64_t *scalars = &table.scalars[entry.first_scalar];
    const int64_t peer = scalars[TTS_MESSAGE_STAGE],
                  channel = scalars[TTS_MESSAGE_CHANNEL];
    if (peer >= int64_t(stages.count) || peer == int64_t(stages.index))
      report.fail(table.entryLabel(p, e), "a message to no other stage");
    std::vector<Message> &known = ofProgram[p];
    for (const Message &message : known)
      if (std::get<2>(message) == channel)
        report.fail(table.entryLabel(p, e),
                    "a second message of channel " + std::to_string(channel));
    known.push_back(
        {function, peer, channel, table.operands[entry.first_operand].size});
    const auto [owner, isFirst] = owners.insert({channel, p});
    const TtsProgram &here = table.programs[p],
                     &there = table.programs[owner->second];
    if (!isFirst && (here.kind != there.kind || here.bucket != there.bucket))
      report.fail(table.entryLabel(p, e),
                  "channel " + std::to_string(channel) + " is " +
                      table.programLabel(owner->second) + "'s");
  }
};

} // namespace

void tts::check::checkMessages(const Stage &stage, Report &report) {
  Messages(stage, report).check();
}
