//===- Manifest.h - where the manifest says things lie ----------*- C++ -*-===//
//
// The part of the manifest (docs/step-table.md) that the proof needs.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_LIB_CHECK_MANIFEST_H
#define TTS_LIB_CHECK_MANIFEST_H

#include "Json.h"
#include "Table.h"

namespace tts::check {

/// Bytes [offset, offset + size) of the arena.
struct Region {
  std::string name;
  uint64_t offset = 0, size = 0;
  bool isShard = false; ///< of a parameter's state: a rank's part of it
  uint64_t end() const { return offset + size; }
};

/// Which stage of a pipeline, and how many micro-batches are under way in it.
struct Stages {
  uint64_t count = 1, index = 0, slots = 1;
};

/// A parameter of the whole model, as a stage knows it.
struct Place {
  std::string name;
  uint64_t stage = 0;  ///< that updates it
  bool isHere = false; ///< it, or a copy of it
  uint64_t elements = 0;
};

struct Parameter {
  Region value;
  uint64_t elements = 0, elementBytes = 4; ///< of the whole
  bool frozen = false;
  std::optional<Region> gradient, moment1, moment2, ema, halfCopy;
  std::optional<Region> next; ///< of a state, between forward and update
};

/// What eval or infer hands out.
struct Output {
  Region region;
  uint64_t bucket = 0;
  bool ofInfer = false;
};

struct Manifest {
  Json json;
  uint64_t arenaBytes = 0, peakBytes = 0, budgetBytes = 0, overheadBytes = 0;
  uint64_t groups = 1, ranks = 1;
  Stages stages;
  uint64_t replicas() const { return ranks / stages.count; }
  /// Programs that add up the sums of a rank's groups.
  uint64_t folds() const { return groups > ranks ? groups / ranks : 0; }
  /// Whether the stage computes any.
  bool hasLoss() const {
    for (const Region &scalar : scalars)
      if (scalar.name.rfind("scalar loss_sum.", 0) == 0)
        return true;
    return false;
  }
  bool updateInBackward = false;     ///< there is neither zero nor update
  std::vector<Place> places;         ///< all of the model's
  std::vector<Parameter> parameters; ///< those that are here
  std::vector<Region> scalars;
  std::vector<std::vector<Region>> inputs;      ///< by bucket
  std::vector<std::vector<Region>> inferInputs; ///< by bucket
  std::vector<Output> outputs;
};

bool readManifest(const Table &table, Report &report, Manifest &manifest);

/// Every region lies in one persistent buffer of its class; those that are
/// alive together are disjoint.
void checkRegions(const Table &table, const Manifest &manifest, Report &report);

} // namespace tts::check

#endif // TTS_LIB_CHECK_MANIFEST_H
