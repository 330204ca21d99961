//===- Process.cpp - another process of this machine, as /proc shows it --===//

#include "Runtime/Memory/Process.h"
#include "Runtime/Memory/Machine.h"
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <string>
#include <sys/syscall.h>
#include <unistd.h>

namespace tts::rt {

namespace {

struct Stat {
  char state = 0; ///< as proc(5) has them; 0: cannot be read
  uint64_t started = 0;
  bool exists = true;
};

/// The 3rd and the 22nd field of a stat file; the second, a name in brackets,
/// may hold anything.
Stat readStat(const char *path) {
  Stat stat;
  char text[1024];
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
  // A process may end between the two calls.
  stat.exists = n >= 0 || (errno != ENOENT && errno != ESRCH);
  if (fd >= 0)
    close(fd);
  text[n > 0 ? n : 0] = '\0';
  const char *field = std::strrchr(text, ')');
  if (!field || std::strlen(field) < 3)
    return stat;
  stat.state = field[2];
  for (int i = 2; field && i < 22; ++i)
    field = std::strchr(field + 1, ' ');
  stat.started = field ? std::strtoull(field, nullptr, 10) : 0;
  return stat;
}

Stat readProcess(int64_t process) {
  char path[64];
  std::snprintf(path, sizeof(path), "/proc/%lld/stat",
                static_cast<long long>(process));
  return readStat(path);
}

} // namespace

ProcessId ownProcess() {
  char numbering[64] = "";
  ssize_t n = readlink("/proc/self/ns/pid", numbering, sizeof(numbering));
  std::string key(numbering, n > 0 ? size_t(n) : 0);
  ProcessId id;
  id.machine = machineId() ^ std::hash<std::string>()(key);
  id.process = getpid();
  id.thread = syscall(SYS_gettid);
  id.started = readProcess(id.process).started;
  return id;
}

ProcessState stateOf(const ProcessId &id) {
  Stat process = readProcess(id.process);
  if (!process.exists || process.state == 'Z' || process.state == 'X' ||
      (process.state && process.started != id.started))
    return ProcessState::Gone;
  char path[96];
  std::snprintf(path, sizeof(path), "/proc/%lld/task/%lld/stat",
                static_cast<long long>(id.process),
                static_cast<long long>(id.thread));
  char state = readStat(path).state;
  return state == 0     ? ProcessState::Unknown
         : state == 'R' ? ProcessState::Starved
                        : ProcessState::Elsewise;
}

} // namespace tts::rt
