//===- TableTest.cpp - damaged step tables are refused -------------------===//
//
// Each fault is planted in a good table; each must be an error, never a crash.
//
//===----------------------------------------------------------------------===//

#include "Runtime/Abi/Table.h"
#include "Runtime/Abi/Error.h"
#include "Runtime/Abi/Manifest.h"
#include "Runtime/Train/Model.h"
#include "ToyModel.h"
#include <cstring>
#include <functional>
#include <gtest/gtest.h>

using namespace tts;
using namespace tts::rt;

namespace {

class DamagedTable : public testing::Test {
protected:
  test::Toy toy = test::makeToy();

  TtsTableHeader *header() {
    return reinterpret_cast<TtsTableHeader *>(toy.blob.data());
  }
  template <typename T> T *section(TtsRange range) {
    return reinterpret_cast<T *>(reinterpret_cast<char *>(toy.blob.data()) +
                                 range.offset);
  }
  /// The text of the error, or "" if the table is accepted.
  std::string refusal() {
    try {
      Table table(toy.blob.data(), toy.blobBytes());
      return "";
    } catch (const Error &e) {
      EXPECT_EQ(e.code, Exit::Refused);
      return e.what();
    }
  }
};

TEST_F(DamagedTable, AGoodOneIsAccepted) { EXPECT_EQ(refusal(), ""); }

TEST_F(DamagedTable, Magic) {
  header()->magic[0] = 'X';
  EXPECT_NE(refusal().find("magic"), std::string::npos);
}

TEST_F(DamagedTable, Version) {
  header()->version = 1;
  EXPECT_NE(refusal().find("version 1"), std::string::npos);
}

TEST_F(DamagedTable, Truncated) {
  header()->total_bytes += 8;
  EXPECT_NE(refusal().find("bytes but has"), std::string::npos);
}

TEST_F(DamagedTable, EverySectionIsBounded) {
  TtsRange TtsTableHeader::*ranges[] = {
      &TtsTableHeader::functions, &TtsTableHeader::programs,
      &TtsTableHeader::entries,   &TtsTableHeader::operands,
      &TtsTableHeader::scalars,   &TtsTableHeader::buffers,
      &TtsTableHeader::strings,   &TtsTableHeader::manifest};
  for (TtsRange TtsTableHeader::*range : ranges) {
    TtsRange good = header()->*range;
    (header()->*range).count = uint64_t(1) << 61;
    EXPECT_NE(refusal(), "");
    header()->*range = {good.offset + 4, good.count};
    EXPECT_NE(refusal(), "");
    header()->*range = {header()->total_bytes + 8, 1};
    EXPECT_NE(refusal(), "");
    header()->*range = good;
  }
  EXPECT_EQ(refusal(), "");
}

TEST_F(DamagedTable, Dtypes) {
  section<TtsOperand>(header()->operands)[3].dtype = TTS_BYTES + 1;
  EXPECT_NE(refusal().find("operand 3: its dtype"), std::string::npos);
}

TEST_F(DamagedTable, IndicesAreBounded) {
  auto *programs = section<TtsProgram>(header()->programs);
  auto *entries = section<TtsEntry>(header()->entries);
  auto *operands = section<TtsOperand>(header()->operands);
  auto *functions = section<TtsFunction>(header()->functions);
  auto *buffers = section<TtsBuffer>(header()->buffers);
  uint32_t *fields[] = {
      &programs->name,        &programs->kind,         &programs->first_entry,
      &programs->num_entries, &entries->function,      &entries->name,
      &entries->loc,          &entries->first_operand, &entries->num_operands,
      &entries->first_scalar, &entries->num_scalars,   &operands->access,
      &operands->buffer,      &functions->name,        &functions->kind,
      &buffers->name,         &buffers->loc,           &buffers->klass};
  for (uint32_t *field : fields) {
    uint32_t good = *field;
    *field = 0x7fffffff;
    EXPECT_NE(refusal(), "") << "field " << field - fields[0];
    *field = good;
  }
  EXPECT_EQ(refusal(), "");
}

TEST_F(DamagedTable, AccessesStayInsideTheirBuffer) {
  auto *operand = section<TtsOperand>(header()->operands);
  operand->size += 1;
  EXPECT_NE(refusal().find("outside its buffer"), std::string::npos);
  operand->size -= 1;
  operand->offset -= 1;
  EXPECT_NE(refusal(), "");
}

TEST_F(DamagedTable, BuffersStayInsideTheArena) {
  header()->arena_bytes -= 64;
  EXPECT_NE(refusal().find("outside the arena"), std::string::npos);
}

TEST_F(DamagedTable, StringsEnd) {
  section<char>(header()->strings)[header()->strings.count - 1] = 'x';
  EXPECT_NE(refusal().find("NUL"), std::string::npos);
}

std::string manifestRefusal(const std::function<void(nlohmann::json &)> &harm) {
  test::Toy toy = test::makeToy();
  Table table(toy.blob.data(), toy.blobBytes());
  nlohmann::json json = nlohmann::json::parse(table.manifest());
  harm(json);
  try {
    Manifest manifest(json.dump(), table.arenaBytes());
    return "";
  } catch (const Error &e) {
    EXPECT_EQ(e.code, Exit::Refused);
    return e.what();
  }
}

TEST(DamagedManifest, NamesWhatIsWrong) {
  using Json = nlohmann::json;
  EXPECT_EQ(manifestRefusal([](Json &) {}), "");
  auto says = [](const std::string &text,
                 const std::function<void(Json &)> &harm) {
    std::string refusal = manifestRefusal(harm);
    EXPECT_NE(refusal.find(text), std::string::npos) << refusal;
  };
  says("version", [](Json &j) { j["version"] = 2; });
  says("batch", [](Json &j) { j.erase("batch"); });
  says("outside the arena",
       [](Json &j) { j["parameters"][0]["offset"] = 1 << 30; });
  says("aligned", [](Json &j) { j["parameters"][0]["offset"] = 4; });
  says("size of its shape", [](Json &j) { j["scalars"][0]["shape"] = {3}; });
  says("size of its parameter",
       [](Json &j) { j["parameters"][0]["gradient"]["size"] = 4; });
  says("unknown dtype", [](Json &j) { j["scalars"][0]["dtype"] = "U8"; });
  says("micro-batch", [](Json &j) { j["buckets"][0]["micro_batch"] = 3; });
  says("no bucket", [](Json &j) { j["outputs"][0]["bucket"] = 9; });
}

TEST(DamagedModel, WhatTheTableCallsMustExist) {
  test::Toy toy = test::makeToy();
  toy.kernels[0] = nullptr; // rt.gemm has none anyway; the next is a kernel
  for (TtsKernel &kernel : toy.kernels)
    kernel = nullptr;
  try {
    Model model(toy.blob.data(), toy.blobBytes(), toy.kernels.data());
    FAIL();
  } catch (const Error &e) {
    EXPECT_NE(std::string(e.what()).find("is missing"), std::string::npos);
  }
}

} // namespace
