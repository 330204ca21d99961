//===- Messenger.h - collectives beside which other entries run ----------===//
//
// A collective whose entry says so is handed to a thread, which makes one after
// the other, and the program goes on. Before an entry that touches bytes which
// one of them writes, or writes bytes which one of them touches, the program
// waits for that one: so nothing changes but the time. What waits for what is
// read off the table's operands once, as a processor's scoreboard does it.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_RUNTIME_DEVICE_CPU_MESSENGER_H
#define TTS_RUNTIME_DEVICE_CPU_MESSENGER_H

#include "Runtime/Abi/Table.h"
#include "Runtime/Device/Cpu/LibraryCall.h"
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <pthread.h>
#include <vector>

namespace tts::rt {

/// Whether the entry is a collective beside which others may run.
bool isAhead(const Table &table, const TtsEntry &entry);

/// For each entry of a program: so many of its collectives as must be through
/// before it runs.
std::vector<uint32_t> findWaits(const Table &table, const TtsProgram &program);

class Messenger {
public:
  /// `most` are begun within one program.
  explicit Messenger(size_t most);
  ~Messenger();
  Messenger(const Messenger &) = delete;
  Messenger &operator=(const Messenger &) = delete;

  /// Returns at once.
  void begin(const LibraryCall &call);
  /// Returns when so many of those that were begun since the last finish() are
  /// through; throws what one of them threw.
  void wait(uint32_t count) {
    if (through < count)
      waitFor(count);
  }
  /// Returns when all are, and counts from none again.
  void finish();

private:
  void waitFor(uint32_t count);
  void work();
  static void *enter(void *self);

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<const LibraryCall *> calls; ///< of this program, in order
  size_t begun = 0;                       ///< guarded, as the next ones
  bool stopping = false;
  std::exception_ptr failure;
  std::atomic<uint32_t> through{0};
  pthread_t thread;
};

} // namespace tts::rt

#endif // TTS_RUNTIME_DEVICE_CPU_MESSENGER_H
