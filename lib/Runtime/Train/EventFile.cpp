//===- EventFile.cpp - encodes and frames TensorBoard events --------------===//
//
// The few fields of tensorflow's Event and Summary messages that scalars need,
// by hand. Strings have their final capacity from the start, so that appending
// allocates nothing.
//
//===----------------------------------------------------------------------===//

#include "Runtime/Train/EventFile.h"
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <system_error>
#include <unistd.h>

namespace tts::rt {

namespace fs = std::filesystem;

namespace {

// Field numbers of tensorflow/core/util/event.proto and
// framework/summary.proto.
enum EventField {
  WallTime = 1,
  Step = 2,
  FileVersion = 3,
  Summary = 5,
  Log = 7
};
enum SummaryField { Value = 1 };
enum ValueField { Tag = 1, SimpleValue = 2 };
enum LogField { Status = 1 };
constexpr uint64_t statusStart = 1;

enum WireType { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

constexpr char prefix[] = "events.out.tfevents.";

constexpr std::array<uint32_t, 256> crcTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit)
      crc = (crc >> 1) ^ (crc & 1 ? 0x82f63b78u : 0);
    table[i] = crc;
  }
  return table;
}

void putVarint(Encoded &to, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    to.push_back(char(value | 0x80));
  to.push_back(char(value));
}

void putKey(Encoded &to, int field, WireType type) {
  putVarint(to, uint64_t(field) << 3 | uint64_t(type));
}

void putVarint(Encoded &to, int field, uint64_t value) {
  putKey(to, field, Varint);
  putVarint(to, value);
}

/// A number as it lies in memory: files and x86 are little-endian.
template <typename T> void putRaw(Encoded &to, T value) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  to.append(bytes, sizeof(T));
}

void putBytes(Encoded &to, int field, const char *data, size_t size) {
  putKey(to, field, Bytes);
  putVarint(to, size);
  to.append(data, size);
}

void beginEvent(Encoded &event, int64_t step) {
  std::chrono::duration<double> now =
      std::chrono::system_clock::now().time_since_epoch();
  event.clear();
  putKey(event, WallTime, Fixed64);
  putRaw(event, now.count());
  putVarint(event, Step, uint64_t(step));
}

std::string hostName() {
  char name[256] = "";
  if (gethostname(name, sizeof(name) - 1) != 0 || !name[0])
    return "localhost";
  for (char &c : name)
    c = c == '/' ? '_' : c;
  return name;
}

/// Files are read in the order of their names: a second start within a second
/// of the first must not come before it.
int64_t startTime(const std::string &directory) {
  int64_t start = int64_t(std::time(nullptr));
  std::error_code ignored; // a directory that cannot be listed is seen later
  for (const fs::directory_entry &entry :
       fs::directory_iterator(directory, ignored)) {
    std::string name = entry.path().filename().string();
    if (name.rfind(prefix, 0) == 0)
      start = std::max<int64_t>(
          start,
          std::strtoll(name.c_str() + sizeof(prefix) - 1, nullptr, 10) + 1);
  }
  return start;
}

} // namespace

uint32_t crc32c(const void *data, size_t bytes) {
  static constexpr std::array<uint32_t, 256> table = crcTable();
  uint32_t crc = ~0u;
  const auto *at = static_cast<const unsigned char *>(data);
  for (size_t i = 0; i < bytes; ++i)
    crc = (crc >> 8) ^ table[(crc ^ at[i]) & 0xff];
  return ~crc;
}

EventFile::EventFile(const std::string &directory, int64_t firstStep,
                     const std::vector<std::string> &tags) {
  // A key or length takes at most ten bytes; a value has three and a float.
  size_t largest = 64, all = 64;
  for (const std::string &tag : tags) {
    largest = std::max(largest, tag.size() + 64);
    all += tag.size() + 64;
  }
  value.reserve(largest);
  summary.reserve(all);
  event.reserve(all + 64);
  record.reserve(all + 96);

  char time[24];
  std::snprintf(time, sizeof(time), "%010lld", (long long)startTime(directory));
  file = File::openToWrite(directory + "/" + prefix + time + "." + hostName());

  beginEvent(event, 0);
  constexpr char version[] = "brain.Event:2";
  putBytes(event, FileVersion, version, sizeof(version) - 1);
  write();
  beginEvent(event, firstStep);
  putVarint(value, Status, statusStart);
  putBytes(event, Log, value.data(), value.size());
  write();
}

void EventFile::begin(int64_t step) {
  beginEvent(event, step);
  summary.clear();
}

void EventFile::scalar(const std::string &tag, double number) {
  value.clear();
  putBytes(value, Tag, tag.data(), tag.size());
  putKey(value, SimpleValue, Fixed32);
  putRaw(value, float(number));
  putBytes(summary, Value, value.data(), value.size());
}

void EventFile::end() {
  putBytes(event, Summary, summary.data(), summary.size());
  write();
}

/// A record: length, its checksum, the event, its checksum.
void EventFile::write() {
  record.clear();
  putRaw(record, uint64_t(event.size()));
  putRaw(record, maskedCrc32c(record.data(), record.size()));
  record += event;
  putRaw(record, maskedCrc32c(event.data(), event.size()));
  file.write(record);
}

} // namespace tts::rt
