//===- EventFileTest.cpp - TensorBoard records, byte by byte --------------===//
//
// Known checksums, and a whole file against bytes written down by hand.
// test/Runtime/test_tensorboard.py reads real ones with TensorBoard itself.
//
//===----------------------------------------------------------------------===//

#include "Runtime/Train/EventFile.h"
#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>
#include <set>

using namespace tts::rt;

namespace {

namespace fs = std::filesystem;

// RFC 3720, B.4.
TEST(Crc32c, KnownVectors) {
  EXPECT_EQ(crc32c("", 0), 0u);
  EXPECT_EQ(crc32c("123456789", 9), 0xe3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0').data(), 32), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff').data(), 32), 0x62a8ab43u);
}

TEST(Crc32c, MaskRotatesAndAdds) {
  uint32_t crc = crc32c("123456789", 9);
  uint32_t rotated = maskedCrc32c("123456789", 9) - 0xa282ead8u;
  EXPECT_EQ((rotated >> 17) | (rotated << 15), crc);
}

struct Folder {
  Folder() {
    char name[] = "/tmp/tts-events-XXXXXX";
    path = mkdtemp(name);
  }
  ~Folder() { fs::remove_all(path); }
  std::set<std::string> files() const {
    std::set<std::string> names;
    for (const auto &entry : fs::directory_iterator(path))
      names.insert(entry.path().string());
    return names;
  }
  std::string path;
};

/// The events of a file, their time cut off; checks lengths and checksums.
std::vector<std::string> events(const std::string &path) {
  std::string bytes = readWholeFile(path, 1 << 20);
  std::vector<std::string> found;
  for (size_t at = 0; at < bytes.size();) {
    uint64_t length;
    uint32_t ofLength, ofEvent;
    std::memcpy(&length, &bytes[at], 8);
    std::memcpy(&ofLength, &bytes[at + 8], 4);
    EXPECT_EQ(ofLength, maskedCrc32c(&bytes[at], 8));
    std::string event = bytes.substr(at + 12, length);
    std::memcpy(&ofEvent, &bytes[at + 12 + length], 4);
    EXPECT_EQ(ofEvent, maskedCrc32c(event.data(), event.size()));
    EXPECT_EQ(event[0], 0x09); // field 1, a double
    found.push_back(event.substr(9));
    at += 16 + length;
  }
  return found;
}

TEST(EventFile, HoldsVersionStartAndScalars) {
  Folder folder;
  {
    EventFile file(folder.path, 301, {"loss", "lr"});
    file.begin(301);
    file.scalar("loss", 0.5);
    file.scalar("lr", -2);
    file.end();
  }
  ASSERT_EQ(folder.files().size(), 1u);
  std::vector<std::string> found = events(*folder.files().begin());
  ASSERT_EQ(found.size(), 3u);
  using namespace std::string_literals;
  EXPECT_EQ(found[0], "\x10\x00\x1a\x0d"s + "brain.Event:2");
  EXPECT_EQ(found[1], "\x10\xad\x02\x3a\x02\x08\x01"s);
  EXPECT_EQ(found[2], "\x10\xad\x02\x2a\x18"s + "\x0a\x0b\x0a\x04loss\x15" +
                          "\x00\x00\x00\x3f"s + "\x0a\x09\x0a\x02lr\x15" +
                          "\x00\x00\x00\xc0"s);
}

TEST(EventFile, NamesKeepTheOrderOfStarts) {
  Folder folder;
  std::set<std::string> before;
  for (int start = 0; start < 3; ++start) {
    EventFile file(folder.path, 1, {});
    std::set<std::string> now = folder.files();
    ASSERT_EQ(now.size(), size_t(start) + 1);
    for (const std::string &name : before)
      EXPECT_LT(name, *now.rbegin());
    before = now;
  }
  EXPECT_NE(before.begin()->find("/events.out.tfevents."), std::string::npos);
}

} // namespace
