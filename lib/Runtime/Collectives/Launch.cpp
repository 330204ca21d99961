//===- Launch.cpp - reads the launcher's environment ----------------------===//

#include "Runtime/Collectives/Launch.h"
#include "Runtime/Abi/Error.h"
#include <cstdlib>
#include <string>

namespace tts::rt {

namespace {

struct Launcher {
  const char *name, *rank, *ranks;
};

/// The innermost first: mpirun may run inside a Slurm job.
constexpr Launcher launchers[] = {
    {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"mpiexec", "PMI_RANK", "PMI_SIZE"},
    {"torchrun", "RANK", "WORLD_SIZE"},
    {"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
};

int number(const char *name, const char *text) {
  char *end = nullptr;
  long value = std::strtol(text, &end, 10);
  if (end == text || *end || value < 0 || value > 1 << 20)
    throw Error(Exit::BadUsage, name,
                std::string("'") + text + "' is no number of ranks",
                "start the program with mpirun -n N");
  return int(value);
}

} // namespace

Launch findLaunch(const std::function<const char *(const char *)> &get) {
  for (const Launcher &launcher : launchers) {
    const char *rank = get(launcher.rank), *ranks = get(launcher.ranks);
    if (!rank || !ranks)
      continue;
    Launch launch{number(launcher.rank, rank), number(launcher.ranks, ranks),
                  launcher.name};
    if (launch.rank >= launch.ranks)
      throw Error(Exit::BadUsage, launcher.rank,
                  std::string(rank) + " is not below " + launcher.ranks + "=" +
                      ranks,
                  "start the program with mpirun -n N");
    return launch;
  }
  return {};
}

void checkLaunch(const Launch &launch, int planned) {
  if (launch.ranks == planned)
    return;
  std::string n = std::to_string(planned);
  throw Error(Exit::BadUsage, launch.launcher ? launch.launcher : "launch",
              std::to_string(launch.ranks) +
                  (launch.ranks == 1 ? " rank was" : " ranks were") +
                  " started, the program is planned for " + n,
              planned == 1
                  ? "start it without a launcher, or recompile with --ranks=" +
                        std::to_string(launch.ranks)
                  : "start it with mpirun -n " + n +
                        ", or recompile with another --ranks");
}

} // namespace tts::rt
