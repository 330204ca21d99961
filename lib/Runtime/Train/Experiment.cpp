//===- Experiment.cpp - settings of a run, and their changes --------------===//

#include "Runtime/Train/Experiment.h"
#include "Runtime/IO/Crc32.h"

namespace tts::rt {

using Json = nlohmann::ordered_json;

Experiment::Experiment(const Manifest &manifest, const Options &options) {
  int64_t parameters = 0;
  for (const Parameter &p : manifest.parameters)
    parameters += p.value.elements();
  settings = {{"parameters", parameters},
              {"batch", manifest.batch},
              {"lr", options.lr},
              {"warmup", options.warmup},
              {"schedule", options.schedule},
              {"weight_decay", options.weightDecay},
              {"ema", manifest.optimizer.ema}};
  if (manifest.batchFrames) { // the number of utterances is what comes of it
    settings.erase("batch");
    settings["batch_frames"] = manifest.batchFrames;
  }
  if (options.schedule == "cosine") // falls to 0 there
    settings["steps"] = options.steps;
}

std::vector<std::string> Experiment::goOnFrom(const Experiment &saved,
                                              int64_t step) {
  std::vector<std::string> added;
  changes = saved.changes;
  trace = saved.trace;
  if (saved.settings.is_null())
    return added;
  for (const auto &[name, value] : settings.items()) {
    auto before = saved.settings.find(name);
    if (before != saved.settings.end() && *before != value)
      added.push_back("from update " + std::to_string(step + 1) +
                      " on: " + name + " " + value.dump() + " instead of " +
                      before->dump());
  }
  changes.insert(changes.end(), added.begin(), added.end());
  return added;
}

void Experiment::add(uint32_t utterances, double rate) {
  if (!trace)
    return;
  ++trace->updates;
  trace->utterances = crc32(&utterances, sizeof(utterances), trace->utterances);
  trace->rates = crc32(&rate, sizeof(rate), trace->rates);
}

Json Experiment::toJson() const {
  Json json = settings;
  if (!changes.empty())
    json["changes"] = changes;
  if (trace)
    json["trace"] = {{"updates", trace->updates},
                     {"utterances", hexText(trace->utterances)},
                     {"rates", hexText(trace->rates)}};
  return json;
}

Experiment Experiment::fromJson(const Json &state) {
  Experiment experiment;
  if (!state.contains("experiment"))
    return experiment;
  experiment.settings = state["experiment"];
  experiment.trace.reset();
  if (experiment.settings.contains("trace")) {
    const Json &trace = experiment.settings["trace"];
    auto number = [&](const char *key) {
      std::string text = trace.at(key).get<std::string>();
      return uint32_t(std::strtoul(text.c_str(), nullptr, 16));
    };
    experiment.trace = {trace.at("updates").get<uint64_t>(),
                        number("utterances"), number("rates")};
    experiment.settings.erase("trace");
  }
  if (experiment.settings.contains("changes"))
    experiment.changes =
        experiment.settings["changes"].get<std::vector<std::string>>();
  experiment.settings.erase("changes");
  return experiment;
}

} // namespace tts::rt
