// A table with programs that speak is accepted; faults planted in them are
// found and named.
#include "SmallTable.h"

#include <gtest/gtest.h>

namespace {

std::string errorsOf(const SmallTable &table) {
  std::string text;
  const tts::check::Report report = table.check();
  for (const std::string &line : report.errors())
    text += line + "\n";
  return text;
}

struct Infer : ::testing::Test {
  Infer() { table.addInfer(); }
  void expectFound(const std::string &words) {
    EXPECT_NE(errorsOf(table).find(words), std::string::npos)
        << errorsOf(table);
  }
  TtsOperand &operand(const std::string &buffer, const std::string &program) {
    const TtsProgram &p = table.programs[table.program(program, 1)];
    for (uint32_t e = 0; e < p.num_entries; ++e) {
      const TtsEntry &entry = table.entries[p.first_entry + e];
      for (uint32_t o = 0; o < entry.num_operands; ++o)
        if (table.operands[entry.first_operand + o].buffer ==
            table.buffer(buffer))
          return table.operands[entry.first_operand + o];
    }
    ADD_FAILURE() << "no operand of " << buffer;
    return table.operands[0];
  }
  SmallTable table;
};

TEST_F(Infer, Holds) { EXPECT_EQ(errorsOf(table), ""); }

TEST_F(Infer, ReadsItsOwnInputsOnly) {
  table.manifest["buckets"][1].erase("infer_inputs");
  expectFound("which nothing has defined");
}

TEST_F(Infer, ReadsNoMoreThanItsInput) {
  operand("batch", "infer").size = 256;
  expectFound("which nothing has defined");
}

TEST_F(Infer, InputsLieInTheBatch) {
  table.manifest["buckets"][0]["infer_inputs"][0]["offset"] = 1920;
  expectFound("infer input text lies in no persistent buffer of class batch");
}

TEST_F(Infer, InputsAreDisjoint) {
  auto &inputs = table.manifest["buckets"][0]["infer_inputs"];
  inputs.push_back(inputs[0]);
  expectFound("shares bytes");
}

TEST_F(Infer, WritesNoParameter) {
  operand("w", "infer").access = TTS_READ_WRITE;
  expectFound("of class parameters");
}

TEST_F(Infer, WritesNoScalar) {
  TtsOperand &w = operand("w", "infer");
  w = {table.buffers[table.buffer("grad_norm")].offset,
       4,
       TTS_WRITE,
       table.buffer("grad_norm"),
       TTS_F32,
       0};
  expectFound("of class buffers");
}

TEST_F(Infer, OutputIsMade) {
  operand("speech1", "infer").size -= 8;
  expectFound("output mel is not wholly defined at the end");
}

TEST_F(Infer, OutputIsOfItsProgram) {
  for (auto &output : table.manifest["outputs"])
    output.erase("program");
  expectFound("output mel is not wholly defined at the end");
  table.addInfer(); // a second one
  expectFound("a second program infer");
}

TEST_F(Infer, OutputOfAnUnknownProgram) {
  table.manifest["outputs"][2]["program"] = "update";
  expectFound("is of no program that has outputs");
}

TEST_F(Infer, OutputsWithoutTheProgram) {
  SmallTable silent;
  silent.manifest["outputs"][0]["program"] = "infer";
  EXPECT_NE(errorsOf(silent).find("is of infer, which does not exist"),
            std::string::npos);
}

TEST_F(Infer, LiveBuffersAreDisjoint) {
  TtsBuffer &speech = table.buffers[table.buffer("speech1")];
  const uint64_t hidden = table.buffers[table.buffer("infer.hidden1")].offset;
  for (TtsOperand &each : table.operands)
    if (each.buffer == table.buffer("speech1"))
      each.offset = hidden;
  speech.offset = hidden;
  table.manifest["outputs"][3]["offset"] = hidden;
  table.listBuffers();
  expectFound("while both are live");
}

} // namespace
