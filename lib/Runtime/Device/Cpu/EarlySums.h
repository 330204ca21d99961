//===- EarlySums.h - gradients are summed while backward runs ------------===//
//
// The sum over ranks at the head of `update` is cut into parts, gradients that
// are final at about the same time. In the last backward of an update a thread
// sums each part as soon as no entry touches it any more; `update` then waits
// for the rest. Every rank sums the same parts in the same order, whichever
// bucket its last micro-batch is of, and a rank without one does so in
// `update`. Ranks whose tables differ (other budgets) take what they have in
// common instead: the operands, from the last one on.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_RUNTIME_DEVICE_CPU_EARLYSUMS_H
#define TTS_RUNTIME_DEVICE_CPU_EARLYSUMS_H

#include "Runtime/Abi/Table.h"
#include "Runtime/Collectives/Ring.h"
#include <atomic>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <pthread.h>

namespace tts::rt {

class EarlySums {
public:
  /// `entry` is an rt.all_reduce of update, `operands` its addresses. `alike`:
  /// the ranks run one table.
  EarlySums(const Table &table, const TtsEntry &entry, void *const *operands,
            Transport &transport, bool alike = true);
  ~EarlySums();
  EarlySums(const EarlySums &) = delete;
  EarlySums &operator=(const EarlySums &) = delete;

  /// The last backward begins; told after each of its entries how many ran.
  void begin(uint32_t program);
  void advance(uint32_t entries) {
    done = entries;
    if (entries == wanted)
      wake();
  }
  /// Returns when everything is summed, now or by the thread.
  void finish();

private:
  /// Operands that are summed together.
  struct Part {
    Ring ring;
    std::map<uint32_t, uint32_t> ready; ///< by program: entries that must run
  };
  void makeParts(const TtsEntry &entry, void *const *operands,
                 Transport &transport, bool alike);
  std::map<uint32_t, std::vector<uint32_t>>
  findLastTouches(const TtsEntry &entry) const;
  void wake();
  void work();
  void waitFor(uint32_t entries);
  static void *enter(void *self);

  const Table &table;
  std::vector<Part> parts;
  std::atomic<uint32_t> done{0}, wanted{0};
  std::mutex mutex;
  std::condition_variable changed;
  uint32_t program = 0;
  bool begun = false; ///< and not yet finished, though the thread may be done
  bool running = false, stopping = false; ///< guarded, as the next ones
  std::exception_ptr failure;
  pthread_t thread;
};

} // namespace tts::rt

#endif // TTS_RUNTIME_DEVICE_CPU_EARLYSUMS_H
