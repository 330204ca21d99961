//===- Evaluate.h - the validation split, once ---------------------------===//
//
// Losses are summed over the whole split and divided once; every utterance
// counts exactly once, whatever the batch and the buckets.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_RUNTIME_TRAIN_EVALUATE_H
#define TTS_RUNTIME_TRAIN_EVALUATE_H

#include "Runtime/IO/Loader.h"
#include "Runtime/Train/Model.h"
#include <functional>

namespace tts::rt {

struct Evaluation {
  explicit Evaluation(const Model &model)
      : losses(model.losses.size()), denominators(model.losses.size()),
        ofGroups(2 * model.losses.size() * size_t(model.manifest.groups)) {}

  double loss = 0;
  std::vector<double> losses, denominators;
  std::vector<double>
      ofGroups; ///< room for sums: group × (losses, denominators)
  uint64_t utterances = 0;
};

/// Told after eval has run on micro-batch i, while its outputs are valid.
using Ran = std::function<void(const HostBatch &batch, size_t i)>;

/// Runs eval over these utterances, given in groups that are summed apart. Uses
/// the loader's current place, so the update taken last is over.
void evaluate(Model &model, Loader &loader,
              const std::vector<std::vector<uint32_t>> &groups,
              Evaluation &result, const Ran &ran = nullptr);

/// Throws Exit::BadInput if the model cannot be evaluated on this corpus.
void checkEvaluable(const Model &model, const Corpus &corpus);

} // namespace tts::rt

#endif // TTS_RUNTIME_TRAIN_EVALUATE_H
