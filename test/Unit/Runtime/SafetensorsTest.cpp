//===- SafetensorsTest.cpp - files in, out, and damaged ------------------===//
//
// Each way a file can be wrong is written and must be one error with its path.
//
//===----------------------------------------------------------------------===//

#include "Runtime/IO/Safetensors.h"
#include "Runtime/Abi/Error.h"
#include "Runtime/IO/Crc32.h"
#include <cstring>
#include <gtest/gtest.h>

using namespace tts::rt;

namespace {

std::string temporary(const char *name) {
  return testing::TempDir() + "/" + name;
}

void writeRaw(const std::string &path, uint64_t length,
              const std::string &rest) {
  File file = File::openToWrite(path);
  file.write(&length, 8);
  file.write(rest);
}

std::string refusal(const std::string &path) {
  try {
    readSafetensorsHeader(File::openToRead(path));
    return "";
  } catch (const Error &e) {
    EXPECT_EQ(e.code, Exit::BadInput);
    EXPECT_EQ(std::string(e.what()).rfind(path, 0), 0u);
    return e.what();
  }
}

TEST(Safetensors, RoundTrip) {
  float x[6] = {1, 2, 3, 4, 5, 6};
  int64_t y[2] = {-1, 7};
  std::string path = temporary("round.safetensors");
  SafetensorsLayout layout;
  layout.add("a.weight", TTS_F32, {2, 3}, x);
  layout.add("scalar", TTS_I64, {2}, y);
  layout.close();
  File file = File::openToWrite(path);
  layout.writeTo(file);
  file.syncAndClose();

  File in = File::openToRead(path);
  SafetensorsHeader header = readSafetensorsHeader(in);
  ASSERT_EQ(header.tensors.size(), 2u);
  const StoredTensor &a = header.tensors[0];
  EXPECT_EQ(a.name, "a.weight");
  EXPECT_EQ(a.shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(a.offset % 8, 0u);
  double wide[6];
  readTensorAs(in, a, TTS_F64, wide);
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(wide[i], x[i]);
  int64_t same[2];
  readTensorAs(in, header.tensors[1], TTS_I64, same);
  EXPECT_EQ(std::memcmp(same, y, sizeof(y)), 0);
  EXPECT_THROW(readTensorAs(in, header.tensors[1], TTS_F32, wide), Error);
}

/// Three writers, each with a part of one tensor, the first with another whole.
TEST(Safetensors, PartsOfSeveralWriters) {
  const float x[5] = {1, 2, 3, 4, 5}, y[2] = {8, 9};
  const uint64_t firsts[] = {0, 2, 5}, counts[] = {2, 3, 0};
  std::string path = temporary("parts.safetensors");
  for (int writer = 0; writer < 3; ++writer) {
    SafetensorsLayout layout;
    layout.addPart("x", TTS_F32, {5}, x + firsts[writer], firsts[writer],
                   counts[writer]);
    layout.add("y", TTS_F32, {2}, y);
    layout.close();
    EXPECT_EQ(layout.hasParts(), counts[writer] > 0);
    File file = writer ? File::openToUpdate(path) : File::openToWrite(path);
    if (writer == 0)
      layout.writeWholes(file);
    layout.writeParts(file);
    file.syncAndClose();
  }
  File in = File::openToRead(path);
  SafetensorsHeader header = readSafetensorsHeader(in);
  ASSERT_EQ(header.tensors.size(), 2u);
  float back[5];
  readTensorAs(in, header.tensors[0], TTS_F32, back);
  EXPECT_EQ(std::memcmp(back, x, sizeof(x)), 0);
  readTensorAs(in, header.tensors[1], TTS_F32, back);
  EXPECT_EQ(std::memcmp(back, y, sizeof(y)), 0);
  double part[2];
  readPartAs(in, header.tensors[0], TTS_F64, 2, 2, part);
  EXPECT_EQ(part[0], 3);
  EXPECT_EQ(part[1], 4);
  EXPECT_THROW(File::openToUpdate(temporary("nobody-made.safetensors")), Error);
}

TEST(Safetensors, DamageIsOneError) {
  std::string path = temporary("bad.safetensors");
  auto says = [&](uint64_t length, const std::string &rest, const char *text) {
    writeRaw(path, length, rest);
    std::string got = refusal(path);
    EXPECT_NE(got.find(text), std::string::npos) << got;
  };
  std::string good =
      R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  writeRaw(path, good.size(), good + "12345678");
  EXPECT_EQ(refusal(path), "");
  says(good.size(), good + "1234567", "reaches outside");
  says(good.size(), good.substr(0, 20), "truncated");
  says(uint64_t(1) << 40, good, "100 MB");
  says(5, "{\"a\":", "cannot be read");
  says(4, "[{}]", "not a JSON object");
  auto entry = [&](const std::string &text, const char *what) {
    std::string header = "{\"a\":" + text + "}";
    says(header.size(), header + "12345678", what);
  };
  entry(R"({"dtype":"F32","shape":[3],"data_offsets":[0,8]})", "size of its");
  entry(R"({"dtype":"F32","shape":[-2],"data_offsets":[0,8]})", "impossible");
  entry(
      R"({"dtype":"F32","shape":[4611686018427387904,16],"data_offsets":[0,8]})",
      "impossible");
  entry(R"({"dtype":"F32","shape":[2],"data_offsets":[8,0]})", "outside");
  entry(R"({"dtype":"F32","shape":[2]})", "cannot be read");
  File::openToWrite(path).write("123");
  EXPECT_NE(refusal(path).find("shorter"), std::string::npos);
  EXPECT_NE(refusal(temporary("none")).find("cannot be opened"),
            std::string::npos);
}

TEST(File, AFullDiskIsOneError) {
  try {
    File file = File::openToWrite("/dev/full");
    file.write("x");
    FAIL();
  } catch (const Error &e) {
    EXPECT_EQ(e.code, Exit::CannotContinue);
    EXPECT_NE(std::string(e.what()).find("No space left"), std::string::npos);
  }
}

TEST(Crc32, KnownAnswers) {
  std::string digits = "123456789", text(1000, 'a');
  // The check value in the catalogue of CRCs.
  EXPECT_EQ(crc32(digits.data(), 9), 0xCBF43926u);
  EXPECT_EQ(crc32(digits.data() + 4, 5, crc32(digits.data(), 4)), 0xCBF43926u);
  EXPECT_EQ(crc32(nullptr, 0), 0u);
  uint32_t bytewise = 0;
  for (char &c : text)
    bytewise = crc32(&c, 1, bytewise);
  EXPECT_EQ(crc32(text.data(), text.size()), bytewise);
}

} // namespace
