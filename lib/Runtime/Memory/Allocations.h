//===- Allocations.h - counts large allocations after start --------------===//
//
// In an executable the definitions of Allocations.cpp stand before the C
// library's own, so every allocation of the process passes through them, those
// of libraries included. They count and forward; nothing else.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_RUNTIME_MEMORY_ALLOCATIONS_H
#define TTS_RUNTIME_MEMORY_ALLOCATIONS_H

#include <cstddef>
#include <cstdint>

namespace tts::rt {

/// From this many bytes an allocation is large.
constexpr size_t largeAllocation = 4096;

/// Declares the start over: counts from here.
void countLargeAllocations();

/// Large allocations since then, those of every thread.
uint64_t largeAllocationsAfterStart();

} // namespace tts::rt

#endif // TTS_RUNTIME_MEMORY_ALLOCATIONS_H
