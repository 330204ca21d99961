//===- ByteSizeTest.cpp - sizes as people write them ---------------------===//

#include "tts/Transforms/Plan/ByteSize.h"

#include "gtest/gtest.h"

using namespace tts::plan;

namespace {

TEST(ByteSize, UnitsAreBinaryUnlessTheyEndInB) {
  EXPECT_EQ(parseByteSize("80G"), int64_t(80) << 30);
  EXPECT_EQ(parseByteSize("80GiB"), int64_t(80) << 30);
  EXPECT_EQ(parseByteSize("80GB"), 80'000'000'000);
  EXPECT_EQ(parseByteSize("512k"), 512 << 10);
  EXPECT_EQ(parseByteSize("3MB"), 3'000'000);
  EXPECT_EQ(parseByteSize("2T"), int64_t(2) << 40);
  EXPECT_EQ(parseByteSize("1.5M"), 3 << 19);
  EXPECT_EQ(parseByteSize("100B"), 100);
  EXPECT_EQ(parseByteSize("100"), 100);
}

TEST(ByteSize, WholeBytesAreExact) {
  EXPECT_EQ(parseByteSize("9007199254740993"), 9007199254740993);
}

TEST(ByteSize, WhatIsNoSizeIsRefused) {
  for (const char *text : {"", "G", "12X", "-1G", "0", "0.1B", "1e9", "1..5G",
                           "99999999T", "80 gigs", "1G2"})
    EXPECT_FALSE(parseByteSize(text)) << text;
}

TEST(ByteSize, BytesAndGiBArePrinted) {
  EXPECT_EQ(formatByteSize(int64_t(3) << 30), "3221225472 bytes (3.000 GiB)");
}

} // namespace
