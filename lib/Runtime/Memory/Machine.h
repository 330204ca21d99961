//===- Machine.h - the operating system's word about memory --------------===//
//
// Peak and free memory as the system reports them, never derived from a plan.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_RUNTIME_MEMORY_MACHINE_H
#define TTS_RUNTIME_MEMORY_MACHINE_H

#include <cstdint>

namespace tts::rt {

/// The largest resident set of this process so far (VmHWM), in bytes.
uint64_t peakResidentBytes();

/// Its resident set now.
uint64_t residentBytes();

/// Since the system started this process, which exec does not reset; to a
/// hundredth of a second.
double secondsSinceStart();

/// The same number for all that runs on this machine since it started.
uint64_t machineId();
/// The same for all in this process's control group.
uint64_t groupId();

/// Bytes this process can still commit: free memory of the machine, or what
/// its control groups leave, whichever is less.
uint64_t availableMemory();
/// Each by itself; without a limit a group leaves all there are.
uint64_t freeOfMachine();
uint64_t freeOfGroups();

} // namespace tts::rt

#endif // TTS_RUNTIME_MEMORY_MACHINE_H
