//===- TableWriterTest.cpp - the step table's bytes ----------------------===//

#include "tts/Conversion/RtToLLVM/TableWriter.h"

#include "gtest/gtest.h"
#include <cstring>

using namespace tts;

namespace {

/// Record `index` of a section.
template <typename Record>
Record at(const std::string &blob, TtsRange range, size_t index) {
  EXPECT_LT(index, range.count);
  Record record;
  std::memcpy(&record, blob.data() + range.offset + index * sizeof(Record),
              sizeof(Record));
  return record;
}

TtsTableHeader headerOf(const std::string &blob) {
  return at<TtsTableHeader>(blob, {0, 1}, 0);
}

std::string stringAt(const std::string &blob, uint32_t offset) {
  TtsRange strings = headerOf(blob).strings;
  EXPECT_LT(offset, strings.count);
  return blob.data() + strings.offset + offset;
}

TEST(TableWriter, EmptyTableIsWellFormed) {
  std::string blob = TableWriter().write(0, "{}");
  TtsTableHeader header = headerOf(blob);
  EXPECT_EQ(std::string(header.magic, 8), TTS_TABLE_MAGIC);
  EXPECT_EQ(header.version, TTS_TABLE_VERSION);
  EXPECT_EQ(header.header_bytes, sizeof(TtsTableHeader));
  EXPECT_EQ(header.total_bytes, blob.size());
  EXPECT_EQ(header.programs.count, 0u);
  EXPECT_EQ(header.strings.count, 1u);
  EXPECT_EQ(blob.substr(header.manifest.offset, header.manifest.count), "{}");
}

TEST(TableWriter, RecordsKeepTheirOrderAndParents) {
  TableWriter table;
  uint32_t gemm = table.addFunction("rt.gemm", TTS_FUNCTION_LIBRARY);
  uint32_t relu = table.addFunction("relu", TTS_FUNCTION_KERNEL);
  table.beginProgram("forward", TTS_PROGRAM_FORWARD, 3);
  table.addEntry(gemm, "a", "m.mlir:1:2",
                 {{0, 64, TTS_READ, 0}, {64, 32, TTS_WRITE, 1}}, {7, 8, 9}, 0);
  table.addEntry(relu, "b", "m.mlir:2:2", {{64, 32, TTS_READ_WRITE, 1}}, {},
                 16);
  table.beginProgram("update", TTS_PROGRAM_UPDATE, TTS_NO_BUCKET);
  table.addEntry(relu, "c", "m.mlir:3:2", {{0, 64, TTS_READ_WRITE, 0}}, {1}, 4);
  TtsBuffer buffer = {};
  buffer.klass = TTS_CLASS_PARAMETERS;
  buffer.program = TTS_NO_BUCKET;
  buffer.size = 64;
  table.addBuffer("w", "m.mlir:9:9", buffer);
  std::string blob = table.write(4096, "{\"version\":1}");

  TtsTableHeader header = headerOf(blob);
  EXPECT_EQ(header.arena_bytes, 4096u);
  ASSERT_EQ(header.programs.count, 2u);
  auto forward = at<TtsProgram>(blob, header.programs, 0);
  EXPECT_EQ(stringAt(blob, forward.name), "forward");
  EXPECT_EQ(forward.bucket, 3u);
  EXPECT_EQ(forward.first_entry, 0u);
  EXPECT_EQ(forward.num_entries, 2u);
  auto update = at<TtsProgram>(blob, header.programs, 1);
  EXPECT_EQ(update.first_entry, 2u);
  EXPECT_EQ(update.num_entries, 1u);
  EXPECT_EQ(update.bucket, TTS_NO_BUCKET);

  auto second = at<TtsEntry>(blob, header.entries, 1);
  EXPECT_EQ(second.function, relu);
  EXPECT_EQ(stringAt(blob, second.loc), "m.mlir:2:2");
  EXPECT_EQ(second.first_operand, 2u);
  EXPECT_EQ(second.first_scalar, 3u);
  EXPECT_EQ(second.num_scalars, 0u);
  EXPECT_EQ(second.range, 16u);
  auto third = at<TtsEntry>(blob, header.entries, 2);
  EXPECT_EQ(at<int64_t>(blob, header.scalars, third.first_scalar), 1);
  EXPECT_EQ(at<TtsOperand>(blob, header.operands, 1).offset, 64u);
  EXPECT_EQ(at<TtsOperand>(blob, header.operands, 1).access,
            uint32_t(TTS_WRITE));
  auto w = at<TtsBuffer>(blob, header.buffers, 0);
  EXPECT_EQ(stringAt(blob, w.name), "w");
  EXPECT_EQ(stringAt(blob, w.loc), "m.mlir:9:9");
}

TEST(TableWriter, EqualStringsAndFunctionsAreStoredOnce) {
  TableWriter table;
  EXPECT_EQ(table.addString("encoder"), table.addString("encoder"));
  EXPECT_NE(table.addString("encoder"), table.addString("encoder.0"));
  EXPECT_EQ(table.addFunction("relu", TTS_FUNCTION_KERNEL),
            table.addFunction("relu", TTS_FUNCTION_KERNEL));
  EXPECT_EQ(table.numFunctions(), 1u);
}

TEST(TableWriter, SectionsAreAlignedAndDoNotOverlap) {
  TableWriter table;
  table.addFunction("odd", TTS_FUNCTION_KERNEL);
  table.beginProgram("zero", TTS_PROGRAM_ZERO, TTS_NO_BUCKET);
  table.addEntry(0, "x", "y", {{0, 64, TTS_WRITE, 0}}, {1, 2, 3}, 1);
  std::string blob = table.write(64, "[1]");
  TtsTableHeader h = headerOf(blob);
  uint64_t end = sizeof(TtsTableHeader);
  std::pair<TtsRange, size_t> sections[] = {{h.functions, sizeof(TtsFunction)},
                                            {h.programs, sizeof(TtsProgram)},
                                            {h.entries, sizeof(TtsEntry)},
                                            {h.operands, sizeof(TtsOperand)},
                                            {h.scalars, sizeof(int64_t)},
                                            {h.buffers, sizeof(TtsBuffer)},
                                            {h.strings, 1},
                                            {h.manifest, 1}};
  for (auto [range, bytes] : sections) {
    EXPECT_EQ(range.offset % 8, 0u);
    EXPECT_GE(range.offset, end);
    end = range.offset + range.count * bytes;
  }
  EXPECT_EQ(end, h.total_bytes);
}

} // namespace
