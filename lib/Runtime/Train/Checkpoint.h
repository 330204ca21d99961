//===- Checkpoint.h - saves and restores a run ---------------------------===//
//
// A checkpoint is a directory step-XXXXXXXX: model.safetensors (weights),
// optimizer.safetensors (moment1.*, moment2.*), ema.safetensors, state.json.
// Written beside, flushed, renamed: it is there whole or not at all. It names
// no time, host, path, bucket or micro-batch: any plan of the model loads it.
// Where ranks have shards of a state, or a pipeline stage its parameters, each
// writes its own into the file that the first made (of a stage its first
// replica); the first renames when all have.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_RUNTIME_TRAIN_CHECKPOINT_H
#define TTS_RUNTIME_TRAIN_CHECKPOINT_H

#include "Runtime/Abi/Manifest.h"
#include "Runtime/Collectives/World.h"
#include "Runtime/IO/Order.h"
#include "Runtime/IO/Safetensors.h"
#include "Runtime/Memory/Arena.h"
#include "Runtime/Train/Experiment.h"
#include "Runtime/Train/LossScale.h"
#include <limits>

namespace tts::rt {

/// Everything of a run that is not a tensor.
struct RunState {
  int64_t step = 0; ///< updates done
  uint64_t seed = 0;
  DataPosition position;
  uint64_t corpus = 0; ///< Corpus::identity
  double bestLoss = std::numeric_limits<double>::infinity();
  int64_t bestStep = 0;
  LossScale lossScale;
  Experiment experiment;
};

class Checkpoints {
public:
  /// Whether every rank has one of these, and they save together; else the
  /// first alone.
  static bool areShared(const Manifest &manifest) {
    return manifest.hasShards() || manifest.stages.count > 1;
  }

  /// Lays the files out, lists what the directory has and clears what a killed
  /// run left half-written.
  Checkpoints(const std::string &directory, const Manifest &manifest,
              const Arena &arena, int64_t keep, World &world);

  bool empty() const { return steps.empty(); }
  /// Writes step-…, then removes the oldest beyond `keep`.
  void save(const RunState &state);
  /// Writes best-…, points the link `best` at it, removes the one before.
  void saveBest(const RunState &state);
  int64_t lastSaved() const { return steps.empty() ? -1 : steps.back(); }
  std::string pathOf(int64_t step) const { return path("step-", step); }

private:
  void layOut(const Manifest &manifest, const Arena &arena);
  void openDirectory();
  bool isFirst() const { return world.isFirst(); }
  void meet() {
    if (isShared)
      world.meet();
  }
  std::string path(const char *prefix, int64_t step) const;
  void writeOwnParts(const std::string &folder);
  void writeWhole(const std::string &target, const RunState &state);
  void writeFiles(const std::string &folder, const RunState &state);
  void remove(const std::string &folder) const;

  std::string directory;
  int64_t keep;
  World &world;
  bool isShared; ///< all ranks save together
  SafetensorsLayout model, optimizer, ema;
  bool hasOptimizer = false, hasEma = false;
  std::vector<int64_t> steps; ///< ascending
  int64_t best = -1;
};

/// The checkpoint that --resume means: `given` itself, or the latest in it.
/// Throws Exit::BadInput when there is none.
std::string findCheckpoint(const std::string &given);

/// Loads weights, moments and EMA into the arena.
RunState loadCheckpoint(const std::string &folder, const Manifest &manifest,
                        const Arena &arena);

} // namespace tts::rt

#endif // TTS_RUNTIME_TRAIN_CHECKPOINT_H
