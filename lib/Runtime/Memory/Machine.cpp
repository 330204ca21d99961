//===- Machine.cpp - reads /proc and the control groups ------------------===//
//
// Plain read(2) into a stack buffer: these run after start too, when nothing
// large may be allocated.
//
//===----------------------------------------------------------------------===//

#include "Runtime/Memory/Machine.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <functional>
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

/// Where a version of the control groups keeps its numbers.
struct GroupFiles {
  const char *line; ///< of /proc/self/cgroup, before the group's path
  const char *mount, *limit, *usage, *cacheKey;
};
constexpr GroupFiles versions[] = {
    {"0::/", "/sys/fs/cgroup", "/memory.max", "/memory.current", "\nfile "},
    {":memory:/", "/sys/fs/cgroup/memory", "/memory.limit_in_bytes",
     "/memory.usage_in_bytes", "\ntotal_cache "},
};

/// What one control group leaves: its limit less what is used, counting its
/// page cache as free because the kernel drops that first.
uint64_t groupLeaves(const GroupFiles &files, const std::string &path) {
  char text[4096];
  std::string folder = files.mount + path;
  readSmall((folder + files.limit).c_str(), text);
  if (text[0] < '0' || text[0] > '9')
    return unlimited; // "max", or no such file
  uint64_t limit = std::strtoull(text, nullptr, 10);
  readSmall((folder + files.usage).c_str(), text);
  uint64_t current = std::strtoull(text, nullptr, 10);
  readSmall((folder + "/memory.stat").c_str(), text);
  uint64_t cache = 0;
  if (const char *at = std::strstr(text, files.cacheKey))
    cache = std::strtoull(at + std::strlen(files.cacheKey), nullptr, 10);
  current -= cache < current ? cache : current;
  return limit > current ? limit - current : 0;
}

/// The least that this process's group and the groups above it leave.
uint64_t groupsLeave(const GroupFiles &files) {
  char text[4096];
  readSmall("/proc/self/cgroup", text);
  const char *line = std::strstr(text, files.line);
  if (!line)
    return unlimited;
  const char *begin = line + std::strlen(files.line) - 1;
  std::string path(begin, std::strcspn(begin, "\n"));
  uint64_t least = groupLeaves(files, path == "/" ? "" : path);
  while (path.size() > 1) {
    path.resize(path.rfind('/'));
    uint64_t leaves = groupLeaves(files, path);
    least = leaves < least ? leaves : least;
  }
  return least;
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

double secondsSinceStart() {
  char text[4096];
  readSmall("/proc/self/stat", text);
  // The 22nd field; the second, a name in brackets, may hold anything.
  const char *field = std::strrchr(text, ')');
  for (int i = 2; field && i < 22; ++i)
    field = std::strchr(field + 1, ' ');
  if (!field)
    return 0;
  double started = std::strtod(field, nullptr) / double(sysconf(_SC_CLK_TCK));
  timespec now;
  clock_gettime(CLOCK_BOOTTIME, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec) - started;
}

uint64_t machineId() {
  char text[64];
  readSmall("/proc/sys/kernel/random/boot_id", text);
  return std::hash<std::string>()(text);
}

uint64_t groupId() {
  char text[4096], link[64] = "";
  readSmall("/proc/self/cgroup", text);
  // Containers may all call their own group "/".
  ssize_t n = readlink("/proc/self/ns/cgroup", link, sizeof(link));
  std::string key(link, n > 0 ? size_t(n) : 0);
  return machineId() ^ std::hash<std::string>()(key + text);
}

uint64_t freeOfMachine() {
  char text[4096];
  readSmall("/proc/meminfo", text);
  return field(text, "MemAvailable:", unlimited);
}

uint64_t freeOfGroups() {
  uint64_t least = unlimited;
  for (const GroupFiles &files : versions)
    least = std::min(least, groupsLeave(files));
  return least;
}

uint64_t availableMemory() { return std::min(freeOfMachine(), freeOfGroups()); }

} // namespace tts::rt
