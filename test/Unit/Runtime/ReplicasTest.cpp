//===- ReplicasTest.cpp - what a checksum sees ----------------------------===//

#include "Runtime/Train/Replicas.h"
#include <cstring>
#include <gtest/gtest.h>
#include <set>
#include <vector>

using namespace tts::rt;

namespace {

TEST(Checksum, SeesEveryBit) {
  for (size_t count : {1, 2, 15, 16, 33, 100}) {
    std::vector<float> values(count);
    for (size_t i = 0; i < count; ++i)
      values[i] = float(i) - 7.5f;
    std::set<uint64_t> seen = {checksum(values.data(), count * 4)};
    for (size_t i = 0; i < count; ++i)
      for (int bit = 0; bit < 32; ++bit) {
        uint32_t word;
        std::memcpy(&word, &values[i], 4);
        word ^= 1u << bit;
        std::vector<float> other = values;
        std::memcpy(&other[i], &word, 4);
        seen.insert(checksum(other.data(), count * 4));
      }
    EXPECT_EQ(seen.size(), 1 + 32 * count);
  }
}

/// What a plain sum would not see: places, lengths, signs in pairs.
TEST(Checksum, SeesPlacesLengthsAndSigns) {
  std::vector<float> values(64, 0.0f);
  values[3] = 1, values[40] = 2;
  uint64_t before = checksum(values.data(), 256);
  std::swap(values[3], values[40]);
  EXPECT_NE(checksum(values.data(), 256), before);
  std::swap(values[3], values[40]);
  EXPECT_EQ(checksum(values.data(), 256), before);
  EXPECT_NE(checksum(values.data(), 252), before);
  for (float &value : values)
    value = -value;
  EXPECT_NE(checksum(values.data(), 256), before);
}

} // namespace
