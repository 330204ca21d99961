//===- Arena.cpp - maps, guards and commits the arena --------------------===//
//
// What can fail for lack of memory fails here, before the first update.
//
//===----------------------------------------------------------------------===//

#include "Runtime/Memory/Arena.h"
#include "Runtime/Abi/Error.h"
#include "Runtime/Memory/Machine.h"
#include "tts-runtime/Format.h"
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <malloc.h>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace tts::rt {

namespace {

[[noreturn]] void refuse(uint64_t bytes, const std::string &why) {
  throw Error(Exit::Refused, "memory",
              "the arena of " + std::to_string(bytes) +
                  " bytes cannot be committed (" + why + ")",
              "free memory on this machine or recompile with a smaller "
              "--memory-budget");
}

/// Touches every page. The kernel call reports a failure where it can; the
/// loop afterwards serves older kernels and costs nothing on committed pages.
bool commitPart(char *first, uint64_t bytes) {
#ifdef MADV_POPULATE_WRITE
  if (madvise(first, bytes, MADV_POPULATE_WRITE) != 0 && errno == ENOMEM)
    return false;
#endif
  uint64_t page = sysconf(_SC_PAGESIZE);
  for (uint64_t i = 0; i < bytes; i += page)
    static_cast<volatile char *>(first)[i] = 0;
  return true;
}

/// By several threads: that the kernel clears pages is most of it.
bool commit(char *first, uint64_t bytes, int threads) {
  constexpr uint64_t part = 64 << 20; // whole huge pages
  int64_t parts = int64_t((bytes + part - 1) / part);
  if (parts < 2)
    return commitPart(first, bytes);
  std::atomic<bool> all = true;
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  for (int64_t i = 0; i < parts; ++i) {
    uint64_t from = uint64_t(i) * part;
    if (!commitPart(first + from, std::min(part, bytes - from)))
      all = false;
  }
  return all;
}

} // namespace

Arena::Arena(uint64_t bytes, int threads) : bytes(bytes) {
  malloc_trim(0); // what parsing left must not count beside the arena
  uint64_t page = sysconf(_SC_PAGESIZE);
  uint64_t body = (bytes + page - 1) / page * page;
  uint64_t available = availableMemory();
  if (body > available)
    refuse(bytes, std::to_string(available) + " bytes are free");

  mappingBytes = body + 2 * page;
  void *map = mmap(nullptr, mappingBytes, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED)
    refuse(bytes, std::strerror(errno));
  mapping = static_cast<char *>(map);
  char *first = mapping + page;
  if (body && mprotect(first, body, PROT_READ | PROT_WRITE) != 0) {
    int error = errno;
    munmap(mapping, mappingBytes);
    refuse(bytes, std::strerror(error));
  }
  madvise(first, body, MADV_HUGEPAGE); // speed only; may be refused
  if (!commit(first, body, threads)) {
    munmap(mapping, mappingBytes);
    refuse(bytes, "the system ran out of it");
  }
  uint64_t aligned = (bytes + TTS_ARENA_ALIGNMENT - 1) / TTS_ARENA_ALIGNMENT *
                     TTS_ARENA_ALIGNMENT;
  base = first + body - aligned;
}

Arena::~Arena() {
  if (mapping)
    munmap(mapping, mappingBytes);
}

} // namespace tts::rt
