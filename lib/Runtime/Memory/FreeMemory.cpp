//===- FreeMemory.cpp - whether what ranks plan fits their machine --------===//

#include "Runtime/Memory/FreeMemory.h"
#include "Runtime/Memory/Machine.h"

namespace tts::rt {

MemoryShare MemoryShare::own(uint64_t peakBytes) {
  // As many bits as a double holds.
  return {double(machineId() >> 12), double(groupId() >> 12), double(peakBytes),
          double(residentBytes())};
}

std::string findLack(const double *ranks, size_t ranksCount, size_t self,
                     uint64_t freeOfMachine, uint64_t freeOfGroup) {
  struct Pool {
    size_t key; ///< of the numbers
    uint64_t free;
    const char *name;
  };
  for (const Pool &pool :
       {Pool{0, freeOfMachine, "machine"}, {1, freeOfGroup, "control group"}}) {
    size_t sharing = 0;
    double peak = 0, more = 0;
    for (size_t r = 0; r < ranksCount; ++r) {
      const double *rank = ranks + r * MemoryShare::count;
      if (rank[pool.key] != ranks[self * MemoryShare::count + pool.key])
        continue;
      ++sharing;
      peak += rank[2];
      more += rank[2] - rank[3];
    }
    if (more > double(pool.free))
      return "the plans of the " + std::to_string(sharing) + " ranks in this " +
             pool.name + " take " + std::to_string(uint64_t(peak)) +
             " bytes, " + std::to_string(pool.free + uint64_t(peak - more)) +
             " are free";
  }
  return "";
}

} // namespace tts::rt
