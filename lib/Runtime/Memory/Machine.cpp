//===- Machine.cpp - reads /proc and the control groups ------------------===//
//
// Plain read(2) into a stack buffer: these run after start too, when nothing
// large may be allocated.
//
//===----------------------------------------------------------------------===//

#include "Runtime/Memory/Machine.h"
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <unistd.h>

namespace tts::rt {

namespace {

constexpr uint64_t unlimited = ~uint64_t(0);

/// The first bytes of a small file, NUL-terminated; empty if it is missing.
template <size_t N> void readSmall(const char *path, char (&text)[N]) {
  text[0] = '\0';
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return;
  ssize_t n = read(fd, text, N - 1);
  close(fd);
  text[n > 0 ? n : 0] = '\0';
}

/// The number after `key` in kB, as bytes, or `otherwise`.
uint64_t field(const char *text, const char *key, uint64_t otherwise) {
  const char *at = std::strstr(text, key);
  return at ? std::strtoull(at + std::strlen(key), nullptr, 10) * 1024
            : otherwise;
}

/// What one control group leaves: memory.max − memory.current, counting its
/// page cache as free because the kernel drops that first.
uint64_t groupLeaves(const std::string &folder) {
  char text[4096];
  readSmall((folder + "/memory.max").c_str(), text);
  if (text[0] < '0' || text[0] > '9')
    return unlimited; // "max", or no such file
  uint64_t limit = std::strtoull(text, nullptr, 10);
  readSmall((folder + "/memory.current").c_str(), text);
  uint64_t current = std::strtoull(text, nullptr, 10);
  readSmall((folder + "/memory.stat").c_str(), text);
  uint64_t cache = 0;
  if (const char *at = std::strstr(text, "\nfile "))
    cache = std::strtoull(at + 6, nullptr, 10);
  current -= cache < current ? cache : current;
  return limit > current ? limit - current : 0;
}

} // namespace

uint64_t peakResidentBytes() {
  char text[4096];
  readSmall("/proc/self/status", text);
  return field(text, "VmHWM:", 0);
}

uint64_t residentBytes() {
  char text[4096];
  readSmall("/proc/self/status", text);
  return field(text, "VmRSS:", 0);
}

uint64_t availableMemory() {
  char text[4096];
  readSmall("/proc/meminfo", text);
  uint64_t available = field(text, "MemAvailable:", unlimited);
  readSmall("/proc/self/cgroup", text);
  const char *line = std::strstr(text, "0::/");
  if (!line)
    return available;
  std::string path(line + 3, std::strcspn(line + 3, "\n"));
  while (true) { // the group and every group above it
    uint64_t leaves = groupLeaves("/sys/fs/cgroup" + path);
    available = leaves < available ? leaves : available;
    size_t slash = path.rfind('/');
    if (slash == std::string::npos || path == "/")
      return available;
    path.resize(slash);
  }
}

} // namespace tts::rt
