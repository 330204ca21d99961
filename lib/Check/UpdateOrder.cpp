// Where backward updates the parameters: that it does so neither too early nor
// too late.
#include "Simulate.h"

using namespace tts::check;

namespace {

class UpdateOrder {
public:
  UpdateOrder(const Table &table, uint32_t program, Report &report)
      : table(table), program(program), report(report),
        isNew(table.buffers.size(), 0), isUsed(isNew) {}

  void check() {
    const TtsProgram &record = table.programs[program];
    for (uint32_t e = 0; e < record.num_entries; ++e) {
      const TtsEntry &entry = table.entries[record.first_entry + e];
      forEach(entry, [&](uint32_t i, const TtsOperand &operand) {
        checkOperand(entry, e, i, operand);
      });
      const bool updates = writesParameter(entry);
      forEach(entry, [&](uint32_t, const TtsOperand &operand) {
        note(operand, updates);
      });
    }
  }

private:
  const Table &table;
  uint32_t program;
  Report &report;
  std::vector<char> isNew;  ///< parameters and half copies, once written
  std::vector<char> isUsed; ///< values that a parameter was updated with

  template <typename Body> void forEach(const TtsEntry &entry, Body body) {
    for (uint32_t i = 0; i < entry.num_operands; ++i)
      body(i, table.operands[entry.first_operand + i]);
  }

  bool isParameter(const TtsOperand &operand) const {
    const uint32_t klass = table.buffers[operand.buffer].klass;
    return klass == TTS_CLASS_PARAMETERS || klass == TTS_CLASS_HALF_COPIES;
  }

  bool writesParameter(const TtsEntry &entry) {
    bool writes = false;
    forEach(entry, [&](uint32_t, const TtsOperand &operand) {
      writes |= (operand.access & TTS_WRITE) && isParameter(operand);
    });
    return writes;
  }

  bool writesStatesOnly(const TtsEntry &entry) {
    bool only = true;
    forEach(entry, [&](uint32_t, const TtsOperand &operand) {
      only &= !(operand.access & TTS_WRITE) ||
              isPersistent(table.buffers[operand.buffer]);
    });
    return only;
  }

  void checkOperand(const TtsEntry &entry, uint32_t e, uint32_t i,
                    const TtsOperand &operand) {
    auto fail = [&](const char *verb, const char *when) {
      report.fail(table.entryLabel(program, e),
                  "operand " + std::to_string(i) + verb +
                      table.bufferLabel(operand.buffer) + when);
    };
    // Gradients are those of the old parameters.
    if ((operand.access & TTS_READ) && isNew[operand.buffer] &&
        !writesStatesOnly(entry))
      fail(" reads ", " after its update");
    if (operand.access == TTS_READ_WRITE && isUsed[operand.buffer])
      fail(" adds to ", " after a parameter was updated with it");
  }

  void note(const TtsOperand &operand, bool updates) {
    const bool writes = operand.access & TTS_WRITE;
    if (isParameter(operand))
      isNew[operand.buffer] |= writes;
    if (isPersistent(table.buffers[operand.buffer]))
      return;
    if (writes) // another value in the same bytes
      isUsed[operand.buffer] = 0;
    else
      isUsed[operand.buffer] |= updates;
  }
};

} // namespace

void tts::check::checkUpdateOrder(const Table &table, const Programs &programs,
                                  Report &report) {
  for (const Programs::Bucket &bucket : programs.buckets)
    UpdateOrder(table, bucket.backward.front(), report).check();
}
