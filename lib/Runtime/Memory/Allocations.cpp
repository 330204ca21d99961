//===- Allocations.cpp - malloc and friends, counted ---------------------===//
//
// operator new ends in malloc, so it needs no definition of its own. free is
// the C library's: the pointers are its own. A sanitizer brings its own
// allocator, so under one nothing is counted.
//
//===----------------------------------------------------------------------===//

#include "Runtime/Memory/Allocations.h"
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tts::rt {

namespace {
std::atomic<bool> counting{false};
std::atomic<uint64_t> largeCount{0};

[[maybe_unused]] void note(size_t bytes) {
  if (bytes >= largeAllocation && counting.load(std::memory_order_relaxed))
    largeCount.fetch_add(1, std::memory_order_relaxed);
}
} // namespace

void countLargeAllocations() {
  largeCount = 0;
  counting = true;
}

uint64_t largeAllocationsAfterStart() { return largeCount; }

} // namespace tts::rt

#ifndef __SANITIZE_ADDRESS__

using tts::rt::note;

extern "C" {

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

void *malloc(size_t bytes) {
  note(bytes);
  return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes) {
  size_t total;
  note(__builtin_mul_overflow(count, bytes, &total) ? 0 : total);
  return __libc_calloc(count, bytes);
}

void *realloc(void *old, size_t bytes) {
  note(bytes);
  return __libc_realloc(old, bytes);
}

void *memalign(size_t alignment, size_t bytes) {
  note(bytes);
  return __libc_memalign(alignment, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes) {
  note(bytes);
  return __libc_memalign(alignment, bytes);
}

int posix_memalign(void **out, size_t alignment, size_t bytes) {
  if (alignment % sizeof(void *) != 0 || (alignment & (alignment - 1)) != 0)
    return EINVAL;
  note(bytes);
  void *pointer = __libc_memalign(alignment, bytes);
  if (!pointer)
    return ENOMEM;
  *out = pointer;
  return 0;
}

void *mmap(void *address, size_t bytes, int protection, int flags, int fd,
           off_t offset) {
  note(bytes);
  return reinterpret_cast<void *>(
      syscall(SYS_mmap, address, bytes, protection, flags, fd, offset));
}

void *mmap64(void *address, size_t bytes, int protection, int flags, int fd,
             off64_t offset) {
  return mmap(address, bytes, protection, flags, fd, offset);
}

} // extern "C"

#endif // __SANITIZE_ADDRESS__
