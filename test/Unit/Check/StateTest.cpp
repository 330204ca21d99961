// A table with a state that forward advances and update adopts is accepted;
// faults planted in it, and in a batch that must not be split, are found.
#include "SmallTable.h"

#include <gtest/gtest.h>

namespace {

struct State : ::testing::Test {
  State() { table.addState(); }

  std::string errors() const {
    std::string text;
    const tts::check::Report report = table.check();
    for (const std::string &line : report.errors())
      text += line + "\n";
    return text;
  }
  void expectFound(const std::string &words) const {
    EXPECT_NE(errors().find(words), std::string::npos) << errors();
  }
  /// The operand of `buffer` in `program` with that access.
  TtsOperand &operand(const std::string &buffer, const std::string &program,
                      uint32_t bucket, uint32_t access) {
    const TtsProgram &p = table.programs[table.program(program, bucket)];
    for (uint32_t e = 0; e < p.num_entries; ++e) {
      const TtsEntry &entry = table.entries[p.first_entry + e];
      for (uint32_t o = 0; o < entry.num_operands; ++o) {
        TtsOperand &found = table.operands[entry.first_operand + o];
        if (found.buffer == table.buffer(buffer) && found.access == access)
          return found;
      }
    }
    ADD_FAILURE() << "no operand of " << buffer;
    return table.operands[0];
  }
  SmallTable table;
};

TEST_F(State, Holds) { EXPECT_EQ(errors(), ""); }

TEST_F(State, EveryForwardFindsTheNextValue) {
  operand("next:mean", "forward", 1, TTS_WRITE).size = 32;
  expectFound("does not write all of next of parameter mean");
}

TEST_F(State, ForwardDoesNotAdvanceTheStateItself) {
  operand("mean", "forward", 0, TTS_READ).access = TTS_READ_WRITE;
  expectFound("of class parameters");
}

TEST_F(State, UpdateReadsTheNextValue) {
  operand("next:mean", "update", TTS_NO_BUCKET, TTS_READ).size = 32;
  expectFound("does not read all of next of parameter mean");
}

TEST_F(State, UpdateAdoptsIt) {
  operand("mean", "update", TTS_NO_BUCKET, TTS_READ_WRITE).access = TTS_READ;
  expectFound("does not write all of parameter mean");
}

TEST_F(State, TheNextValueIsNobodysAtStart) {
  // Forward reads it before anything wrote it.
  operand("next:mean", "forward", 0, TTS_WRITE).access = TTS_READ_WRITE;
  expectFound("which nothing has defined");
}

TEST_F(State, AStateIsNeitherFrozenNorTrained) {
  table.manifest["parameters"][1]["frozen"] = true;
  expectFound("has a next value but is frozen or trained");
}

TEST_F(State, TheNextValueLiesInTheBuffers) {
  table.manifest["parameters"][1]["next"]["offset"] = 256;
  expectFound("lies in no persistent buffer of class buffers");
}

TEST_F(State, AWholeBatchIsNotSplit) {
  table.manifest["whole_batch"] = "bn";
  expectFound("bn looks at the whole update, which is split");
}

} // namespace
