//===- Experiment.h - what must not change unsaid when a run goes on ------===//
//
// Ranks, micro-batches, precision of storage are plans of one experiment;
// another batch, rate or schedule is another experiment. A checkpoint holds
// what it was trained with, from which update on that was changed, and a trace:
// checksums of the utterances and rates of all updates so far, which are the
// same on any number of ranks.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_RUNTIME_TRAIN_EXPERIMENT_H
#define TTS_RUNTIME_TRAIN_EXPERIMENT_H

#include "Runtime/Train/Options.h"
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace tts::rt {

class Experiment {
public:
  Experiment() = default;
  Experiment(const Manifest &manifest, const Options &options);

  /// Takes over the saved one's history and adds what is otherwise now, each
  /// as "from update 7 on: lr 0.02 instead of 0.01"; returns what was added.
  std::vector<std::string> goOnFrom(const Experiment &saved, int64_t step);

  /// An update was done, of utterances with this checksum.
  void add(uint32_t utterances, double rate);

  nlohmann::ordered_json toJson() const;
  /// Empty where the checkpoint has none.
  static Experiment fromJson(const nlohmann::ordered_json &state);

private:
  struct Trace {
    uint64_t updates = 0;
    uint32_t utterances = 0, rates = 0;
  };

  nlohmann::ordered_json settings; ///< by name; null: unknown
  std::vector<std::string> changes;
  std::optional<Trace> trace = Trace(); ///< none: of an older checkpoint
};

} // namespace tts::rt

#endif // TTS_RUNTIME_TRAIN_EXPERIMENT_H
