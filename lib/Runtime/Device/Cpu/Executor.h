//===- Executor.h - the loop that runs a step table on the CPU -----------===//
//
// Prepared at start: addresses of all operands, kernels by pointer, library
// functions by primitive. Running a program is one loop over its entries.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_RUNTIME_DEVICE_CPU_EXECUTOR_H
#define TTS_RUNTIME_DEVICE_CPU_EXECUTOR_H

#include "Runtime/Abi/Table.h"
#include "Runtime/Collectives/World.h"
#include "Runtime/Device/Cpu/Conv1d.h"
#include "Runtime/Device/Cpu/EarlySums.h"
#include "Runtime/Device/Cpu/Gemm.h"
#include "Runtime/Device/Cpu/Messages.h"
#include "Runtime/Device/Cpu/Messenger.h"
#include "Runtime/Memory/Arena.h"
#include "tts-runtime/Abi.h"
#include <memory>
#include <vector>

namespace tts::rt {

/// Splits [0, range) into one contiguous part per thread and runs the kernel
/// on them; the split depends on the two numbers only.
void parallelFor(TtsKernel kernel, void *const *operands, int64_t range,
                 int threads);

/// Told after each entry of a program; false ends the program there.
class EntryObserver {
public:
  virtual ~EntryObserver() = default;
  virtual bool after(uint32_t program, uint32_t entry) = 0;
};

/// What one entry has taken since timing was started.
struct EntryTime {
  double seconds = 0;
  double processorSeconds = 0; ///< of the calling thread
  uint64_t calls = 0;
};

class Executor {
public:
  /// `kernels` has one pointer per function of the table, null for library
  /// functions. Throws Exit::Refused for what cannot run here. `world` serves
  /// collective entries; null: there are none.
  Executor(const Table &table, const TtsKernel *kernels, const Arena &arena,
           int threads, World *world);

  /// Runs all entries of a program (index into the table's programs). Throws
  /// Exit::Interrupted when an observer ends it.
  void run(uint32_t program);

  /// Runs an update's last backward: gradients are summed over ranks as they
  /// become final, where the table has room for that.
  void runLastBackward(uint32_t program);
  /// The sums that are begun, and of which ranks count on each other, end.
  void finishEarlySums();

  /// Who is told after each entry, or null.
  void observe(EntryObserver *observer) { this->observer = observer; }
  EntryObserver *observed() const { return observer; }

  /// Measures every entry from now on, from zero, or stops.
  void time(bool on);
  /// Per entry of the table; empty when timing was never started.
  const std::vector<EntryTime> &times() const { return measured; }

  /// Visits every entry of every program once: calls each kernel on an empty
  /// range (its data may be garbage, an index among it) and each primitive for
  /// real, once. What would allocate or load code at its first use does so now.
  /// What that writes is zero again afterwards, as the arena began.
  void rehearse();

  /// The end of the highest operand handed to an entry so far, rounded up to
  /// the arena's alignment.
  uint64_t highWater() const;

  const GemmLibrary &gemms() const { return matmuls; }
  /// Matmuls that the library does not do here, of a size at which it matters.
  size_t plainGemms() const;

private:
  struct Call {
    TtsKernel kernel = nullptr; ///< or null: a library function
    const LibraryCall *library = nullptr;
    void *const *operands = nullptr;
    int64_t range = 0;
    int threads = 1;
    bool isAhead = false; ///< the messenger's
    uint32_t after = 0;   ///< how many of those must be through
  };
  void prepare(uint32_t entry, TtsKernel kernel);
  const LibraryCall &findLibrary(const TtsEntry &entry, void *const *operands,
                                 const std::string &where);
  void prepareEarlySums();
  void rehearseMessages();
  void prepareMessenger();
  void runBeside(const TtsProgram &program);
  void runCall(const Call &call);
  void runTimed(const Call &call, EntryTime &time);
  void runWatched(uint32_t program);
  uint64_t operandBytes(const TtsEntry &entry) const;
  void collectWritten(uint32_t entry,
                      std::vector<std::pair<uint64_t, uint64_t>> &ranges) const;
  void clear(std::vector<std::pair<uint64_t, uint64_t>> ranges);

  const Table &table;
  const Arena &arena;
  int threads;
  GemmLibrary matmuls;
  Conv1dLibrary convolutions;
  World *world;
  std::vector<std::unique_ptr<LibraryCall>> collectives;
  std::vector<const Message *> messages; ///< per entry, or null
  std::unique_ptr<EarlySums> early;      ///< or null
  std::unique_ptr<Messenger> messenger;  ///< or null
  std::vector<void *> addresses;         ///< per operand of the table
  std::vector<Call> calls;               ///< per entry of the table
  std::vector<uint64_t> reaches; ///< per program: end of its highest operand
  uint64_t reached = 0;
  EntryObserver *observer = nullptr;
  bool timing = false;
  std::vector<EntryTime> measured;
};

} // namespace tts::rt

#endif // TTS_RUNTIME_DEVICE_CPU_EXECUTOR_H
