//===- ModelTest.cpp - every kernel of a whole model ----------------------===//

#include "Compiled.h"
#include <fstream>

using namespace tts::test;

namespace {

/// The kernels of a module after the phase memory, without its programs.
std::string kernelsOf(const char *path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << "cannot read " << path;
  std::string text;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    inside |= line.find("func.func private @") != std::string::npos;
    if (inside)
      text += line + "\n";
    inside &= line != "  }";
  }
  return text;
}

/// Activations where floats stand; ids, lengths or durations where integers do.
std::vector<char> contents(const Memory &memory, uint32_t seed) {
  std::vector<char> bytes(memory.count * memory.bits / 8);
  auto copy = [&](const auto &values) {
    std::memcpy(bytes.data(), values.data(), bytes.size());
  };
  std::vector<int64_t> integers(memory.count);
  for (int64_t i = 0; i < memory.count; ++i)
    integers[i] = (i * 7 + seed) % 6;
  if (memory.isFloat && memory.bits == 32)
    copy(random<float>(memory.count, seed));
  else if (memory.isFloat && memory.bits == 64)
    copy(random<double>(memory.count, seed));
  else if (memory.bits == 64)
    copy(integers);
  else if (memory.bits == 32)
    copy(std::vector<int32_t>(integers.begin(), integers.end()));
  else
    ADD_FAILURE() << "operands of " << memory.bits << " bits are not known";
  return bytes;
}

/// Real shapes, fused as Select does: the range cut anywhere and the warps of a
/// GPU give the same bits.
TEST(Model, EveryKernelOfFastSpeech2) {
  Compiled compiled(kernelsOf(TTS_MODEL_KERNELS));
  EXPECT_GT(compiled.operands().size(), 80u);
  for (const auto &[name, memory] : compiled.operands()) {
    std::vector<std::vector<char>> data;
    std::vector<Operand> operands;
    for (const Memory &operand : memory)
      data.push_back(contents(operand, uint32_t(data.size() + 1)));
    for (std::vector<char> &bytes : data)
      operands.emplace_back(bytes.data(), bytes.size());
    SCOPED_TRACE(name);
    run(compiled[name], operands);
  }
}

} // namespace
