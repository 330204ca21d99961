//===- OtherModes.cpp - runs that do not train ---------------------------===//
//
// --evaluate: the validation split once, its outputs on request. --dump-order:
// which utterances every update takes, for a twin in another framework.
//
//===----------------------------------------------------------------------===//

#include "Runtime/Abi/Error.h"
#include "Runtime/Train/Dump.h"
#include "Runtime/Train/Train.h"
#include <nlohmann/json.hpp>

namespace tts::rt {

void Run::evaluateOnly() {
  progress = std::make_unique<Progress>(0, 0);
  if (options.dumpOutputs.empty()) {
    validate();
    return finish();
  }
  std::vector<uint32_t> wanted;
  for (const std::string &id : options.dumpUtterances) {
    uint32_t u = corpus.find(id);
    if (u == corpus.size())
      throw Error(Exit::BadInput, "--dump-utterances",
                  "the corpus has no utterance '" + id + "'",
                  "use ids of the corpus");
    wanted.push_back(u);
  }
  if (wanted.empty())
    for (const std::vector<uint32_t> &group : loader->validation())
      wanted.insert(wanted.end(), group.begin(), group.end());
  Dump dump(options.dumpOutputs, model, corpus, *loader, wanted);
  setDraw(model, state.seed, state.step);
  evaluate(model, *loader, {wanted}, evaluation,
           [&](const HostBatch &batch, size_t i) { dump.write(batch, i); });
  dump.close();
  progress->note(("wrote " + options.dumpOutputs + " (" +
                  std::to_string(evaluation.utterances) + " utterances)")
                     .c_str());
  finish();
}

void Run::dumpOrder() {
  File file = File::openToWrite(options.dumpOrder);
  for (int64_t step = state.step + 1; step <= options.steps; ++step) {
    const HostBatch &batch = loader->next();
    nlohmann::ordered_json json = {{"step", step}, {"epoch", batch.epoch}};
    for (const MicroBatch &micro : batch.microBatches) {
      nlohmann::ordered_json ids = nlohmann::ordered_json::array();
      for (uint32_t i = 0; i < micro.count; ++i)
        ids.push_back(corpus.id(batch.utterances[micro.first + i]));
      json["micro_batches"].push_back(
          {{"bucket", micro.bucket}, {"utterances", ids}});
    }
    file.write(json.dump() + "\n");
  }
  file.syncAndClose();
}

} // namespace tts::rt
