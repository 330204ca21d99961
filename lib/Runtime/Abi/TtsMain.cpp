//===- TtsMain.cpp - from the command line to an exit code ---------------===//
//
// The only place that prints errors and ends the process.
//
//===----------------------------------------------------------------------===//

#include "Runtime/Abi/Error.h"
#include "Runtime/Collectives/World.h"
#include "Runtime/Memory/FreeMemory.h"
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

/// "rank 1: " where there are several.
std::string rankText(const World &world) {
  return world.ranks() == 1 ? ""
                            : "rank " + std::to_string(world.rank()) + ": ";
}

void complain(const std::string &text) {
  std::fprintf(stderr, "error: %s\n", text.c_str());
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

/// What this process is to be; throws if others were started than planned.
const TtsRole &findRole(const Manifest &first, const Launch &launch) {
  checkLaunch(launch, first.ranks);
  if (tts_num_roles == 1)
    return tts_roles[0];
  if (first.roleOfRank.size() != size_t(first.ranks) ||
      first.roleOfRank[size_t(launch.rank)] >= tts_num_roles)
    throw Error(Exit::Refused, "executable",
                "it does not say which of its tables a rank runs",
                "recompile the model");
  return tts_roles[first.roleOfRank[size_t(launch.rank)]];
}

/// Ranks of one machine share its memory. All have come together and none has
/// committed its own yet; nobody passes before everyone has looked.
void checkMemoryOfRanks(const Manifest &manifest, World &world) {
  uint64_t ofMachine = freeOfMachine(), ofGroup = freeOfGroups();
  auto own = MemoryShare::own(manifest.peakBytes).numbers();
  const double *all = world.gather(own.data(), own.size());
  std::string lack = findLack(all, size_t(world.ranks()), size_t(world.rank()),
                              ofMachine, ofGroup);
  if (!lack.empty())
    throw Error(Exit::Refused, "memory", lack,
                "free memory there, start fewer ranks on it or recompile with "
                "a smaller --memory-budget");
}

void joinWorld(const Manifest &manifest, const Launch &launch, World &world) {
  if (launch.ranks == 1)
    return;
  if (!tts_make_transport)
    throw Error(Exit::Refused, "executable", "it was linked without MPI",
                "recompile the model with this version of tts-compile");
  world = World(
      std::unique_ptr<Transport>(tts_make_transport(launch.rank, launch.ranks)),
      manifest.stages.count,
      manifest.stages.count > 1 || manifest.roleOfRank.empty());
}

void run(int argc, char **argv, World &world) {
  // One heap: the few small allocations of threads need no 64 MB of address
  // space each.
  mallopt(M_ARENA_MAX, 1);
  if (tts_abi_version != TTS_ABI_VERSION)
    throw Error(Exit::Refused, "executable", "it was made for another runtime",
                "recompile the model with this version of tts-compile");
  Table firstTable(tts_roles[0].table);
  Manifest first(firstTable.manifest(), firstTable.arenaBytes());
  Options options;
  if (!parseOptions(argc, argv, first.defaults, options))
    return;
  if (!options.infer.empty() && first.stages.count > 1)
    throw Error(Exit::BadUsage, "--infer",
                "this program is a pipeline of " +
                    std::to_string(first.stages.count) + " stages",
                "compile the model without --pipeline and give that program "
                "the checkpoint");
  if (!options.infer.empty()) {
    checkMemory(first);
    return runInference(options, tts_roles[0].table, tts_roles[0].kernels);
  }
  Launch launch = findLaunch(std::getenv);
  const TtsRole &role = findRole(first, launch);
  Table table(role.table);
  Manifest manifest(table.manifest(), table.arenaBytes());
  checkMemory(manifest);
  joinWorld(manifest, launch, world);
  if (world.ranks() > 1)
    checkMemoryOfRanks(manifest, world);
  catchInterrupts();
  Run(options, role.table, role.kernels, world).run();
}

} // namespace

int tts_main(int argc, char **argv) {
  startWithShortSpins(argv);
  World world;
  auto end = [&](Exit code, const std::string &text) {
    complain(rankText(world) + text);
    world.announceFailure(int(code));
    return int(code);
  };
  try {
    run(argc, argv, world);
    return 0;
  } catch (const Error &e) {
    return end(e.code, e.what());
  } catch (const std::bad_alloc &) {
    return end(Exit::Refused,
               "memory: the system has none left; free memory or recompile "
               "with a smaller --memory-budget");
  } catch (const std::exception &e) {
    return end(Exit::Refused,
               std::string("runtime: ") + e.what() + "; report this");
  }
}
