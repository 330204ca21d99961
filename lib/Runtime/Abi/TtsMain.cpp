//===- TtsMain.cpp - from the command line to an exit code ---------------===//
//
// The only place that prints errors and ends the process.
//
//===----------------------------------------------------------------------===//

#include "Runtime/Abi/Error.h"
#include "Runtime/Memory/Machine.h"
#include "Runtime/Train/Infer.h"
#include "Runtime/Train/Signals.h"
#include "Runtime/Train/Train.h"
#include "tts-runtime/Abi.h"
#include <cstdio>
#include <cstdlib>
#include <malloc.h>
#include <new>
#include <unistd.h>

using namespace tts::rt;

namespace {

int complain(Exit code, const std::string &text) {
  std::fprintf(stderr, "error: %s\n", text.c_str());
  return int(code);
}

/// libgomp's threads wait for each other by spinning 300,000 times (13 ms),
/// which on a machine with other work costs a multiple of the update itself;
/// 10,000 times (0.4 ms) reach over an entry that one thread runs alone. It
/// reads the number before main, so this program starts once more in its own
/// place. Failing is no harm.
void startWithShortSpins(char **argv) {
  if (std::getenv("GOMP_SPINCOUNT") || std::getenv("OMP_WAIT_POLICY"))
    return; // the user's choice, or the second time
  setenv("GOMP_SPINCOUNT", "10000", 1);
  execv("/proc/self/exe", argv);
}

/// What the plan will hold in all must fit now: later it would be a kill.
void checkMemory(const Manifest &manifest) {
  uint64_t available = availableMemory() + residentBytes();
  if (manifest.peakBytes > available)
    throw Error(Exit::Refused, "memory",
                "the plan takes " + std::to_string(manifest.peakBytes) +
                    " bytes, " + std::to_string(available) + " are free",
                "free memory on this machine or recompile with a smaller "
                "--memory-budget");
}

void run(int argc, char **argv) {
  // One heap: the few small allocations of threads need no 64 MB of address
  // space each.
  mallopt(M_ARENA_MAX, 1);
  if (tts_abi_version != TTS_ABI_VERSION)
    throw Error(Exit::Refused, "executable", "it was made for another runtime",
                "recompile the model with this version of tts-compile");
  Table table(tts_table);
  Manifest manifest(table.manifest(), table.arenaBytes());
  Options options;
  if (!parseOptions(argc, argv, manifest.defaults, options))
    return;
  checkMemory(manifest);
  if (!options.infer.empty())
    return runInference(options, tts_table, tts_kernels);
  catchInterrupts();
  Run(options, tts_table, tts_kernels).run();
}

} // namespace

int tts_main(int argc, char **argv) {
  startWithShortSpins(argv);
  try {
    run(argc, argv);
    return 0;
  } catch (const Error &e) {
    return complain(e.code, e.what());
  } catch (const std::bad_alloc &) {
    return complain(Exit::Refused,
                    "memory: the system has none left; free memory or "
                    "recompile with a smaller --memory-budget");
  } catch (const std::exception &e) {
    return complain(Exit::Refused,
                    std::string("runtime: ") + e.what() + "; report this");
  }
}
