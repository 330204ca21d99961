// A table whose backward updates the parameters is accepted; updates too early,
// too late or missing are found.
#include "SmallTable.h"

#include <gtest/gtest.h>

namespace {

struct UpdateInBackward : ::testing::Test {
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
  void add(uint32_t entry, const std::string &buffer, uint32_t access) {
    table.addOperand(backward, entry, {table.buffer(buffer), access});
  }
  TtsOperand &operand(uint32_t entry, uint32_t number) {
    const uint32_t first = table.programs[backward].first_entry;
    return table.operands[table.entries[first + entry].first_operand + number];
  }

  enum Entry { LossGrad, First, InputGrad, Second, AdamW, Ema, Norm, Behind };
  SmallTable table{true};
  uint32_t backward = table.program("backward", 0);
};

TEST_F(UpdateInBackward, Holds) { EXPECT_EQ(errors(), ""); }

TEST_F(UpdateInBackward, NobodyReadsAParameterAfterItsUpdate) {
  add(Behind, "w", TTS_READ);
  expectFound("operand 2 reads buffer");
  expectFound("after its update");
}

TEST_F(UpdateInBackward, OtherStatesAreMadeOfTheNewParameter) {
  add(Norm, "w", TTS_READ);
  EXPECT_EQ(errors(), "");
}

TEST_F(UpdateInBackward, NothingIsAddedToAGradientThatWasUsed) {
  table.buffers[table.buffer("gradient")].last_entry = Behind;
  add(Behind, "gradient", TTS_READ_WRITE);
  expectFound("after a parameter was updated with it");
}

TEST_F(UpdateInBackward, ItsBytesMayHoldAnotherValueThen) {
  table.buffers[table.buffer("gradient")].last_entry = Behind;
  add(Behind, "gradient", TTS_WRITE);
  EXPECT_EQ(errors(), "");
}

TEST_F(UpdateInBackward, EveryStateIsWritten) {
  for (uint32_t number : {2, 3, 4}) {
    SmallTable sound = table;
    operand(AdamW, number).size -= 4;
    expectFound("does not write all of");
    table = sound;
  }
  operand(Ema, 1).size -= 4;
  expectFound("does not write all of ema");
}

TEST_F(UpdateInBackward, NormAndScalarsAreThere) {
  operand(Norm, 1).access = TTS_READ;
  EXPECT_NE(errors(), "");
}

TEST_F(UpdateInBackward, ScalarsAreRead) {
  const uint32_t draw = table.buffer("draw"); // instead
  operand(AdamW, 0).buffer = draw;
  operand(AdamW, 0).offset = table.buffers[draw].offset;
  operand(AdamW, 0).size = table.buffers[draw].size;
  expectFound("does not read scalar optimizer");
}

TEST_F(UpdateInBackward, AnUpdateIsOneMicroBatch) {
  table.manifest["buckets"][0]["micro_batch"] = 8;
  expectFound("backward updates the parameters after the whole update, which "
              "is split");
}

TEST_F(UpdateInBackward, GradientsDoNotPersist) {
  table.manifest["parameters"][0]["gradient"] = {{"offset", 512},
                                                 {"size", 256}};
  expectFound("is updated in backward but keeps a gradient");
}

TEST_F(UpdateInBackward, TheManifestSaysSo) {
  table.manifest["update_in_backward"] = false;
  expectFound("is trained without a gradient");
}

TEST_F(UpdateInBackward, SoDoesTheCertificate) {
  table.certificate["update_in_backward"] = false;
  expectFound("update_in_backward is not the manifest's");
}

TEST(UpdateApart, BackwardWritesNoParameter) {
  SmallTable table;
  for (const char *told : {"manifest", "certificate"})
    (told[0] == 'm' ? table.manifest
                    : table.certificate)["update_in_backward"] = true;
  const tts::check::Report report = table.check();
  EXPECT_FALSE(report.ok());
}

} // namespace
