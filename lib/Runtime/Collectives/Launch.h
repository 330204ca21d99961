//===- Launch.h - which rank of how many this process is -----------------===//
//
// What the launcher put into the environment, apart from any collective: mpirun
// (OpenMPI, and what speaks PMI), Slurm's srun, torchrun.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_RUNTIME_COLLECTIVES_LAUNCH_H
#define TTS_RUNTIME_COLLECTIVES_LAUNCH_H

#include <functional>

namespace tts::rt {

struct Launch {
  int rank = 0, ranks = 1;
  const char *launcher = nullptr; ///< null: started by itself
};

/// `get` is std::getenv, or a test's. Throws Exit::BadUsage for a number that
/// is none.
Launch findLaunch(const std::function<const char *(const char *)> &get);

/// Throws Exit::BadUsage unless as many were started as were planned.
void checkLaunch(const Launch &launch, int planned);

} // namespace tts::rt

#endif // TTS_RUNTIME_COLLECTIVES_LAUNCH_H
