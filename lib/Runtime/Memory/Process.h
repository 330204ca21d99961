//===- Process.h - another process of this machine, as /proc shows it ----===//

#ifndef TTS_RUNTIME_MEMORY_PROCESS_H
#define TTS_RUNTIME_MEMORY_PROCESS_H

#include <cstdint>

namespace tts::rt {

/// How others find a process and one thread of it. Plain numbers: it travels
/// between ranks as bytes.
struct ProcessId {
  uint64_t machine = 0; ///< and its numbering of processes
  int64_t process = 0, thread = 0;
  uint64_t started = 0; ///< the process; numbers are used again
};

/// The calling thread and its process.
ProcessId ownProcess();

enum class ProcessState {
  Unknown,  ///< not to be seen from here
  Gone,     ///< ended, whether or not anyone has asked for its exit code
  Starved,  ///< its thread wants to run and is not let
  Elsewise, ///< runs, waits or was stopped
};

/// What has become of it. Allocates nothing.
ProcessState stateOf(const ProcessId &id);

} // namespace tts::rt

#endif // TTS_RUNTIME_MEMORY_PROCESS_H
