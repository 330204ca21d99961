//===- Metrics.cpp - writes metrics.jsonl and events ----------------------===//
//
// A resumed run's file reads as that of an unbroken one: lines past the
// checkpoint are dropped before new ones are written; events past it are
// declared void at the head of a new event file.
//
//===----------------------------------------------------------------------===//

#include "Runtime/Train/Metrics.h"
#include "Runtime/Abi/Error.h"
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

namespace tts::rt {

using Json = nlohmann::ordered_json;

namespace {

/// Scalars by the names of metrics.jsonl; its losses follow, a tag each.
enum PlainTag { Total, Validation, Rate, GradNorm, Speed, Padding };
const std::array<std::string, 6> plainTags = {
    "loss",      "val_loss",          "lr",
    "grad_norm", "frames_per_second", "padding_fraction"};

/// The lines of an older file that a resumed run still stands behind.
std::string keptLines(const std::string &path, int64_t step) {
  if (!exists(path))
    return "";
  std::string text = readWholeFile(path, ~uint64_t(0)), kept;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = text.find('\n', begin);
    if (end == std::string::npos)
      break; // cut off by a kill
    std::string line = text.substr(begin, end + 1 - begin);
    begin = end + 1;
    Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (json.is_object() && json.contains("step") &&
        json["step"].is_number_integer() && json["step"].get<int64_t>() <= step)
      kept += line;
  }
  return kept;
}

/// Whole or not at all.
void replaceFile(const std::string &path, const std::string &text) {
  std::string beside =
      path.substr(0, path.rfind('/') + 1) + ".metrics.jsonl.tmp";
  File fresh = File::openToWrite(beside);
  fresh.write(text);
  fresh.syncAndClose();
  if (std::rename(beside.c_str(), path.c_str()) != 0)
    throw Error(Exit::CannotContinue, path,
                std::string("cannot be written (") + std::strerror(errno) + ")",
                "choose another --log-dir");
}

Json byName(const Manifest &manifest, const std::vector<double> &values) {
  Json json = Json::object();
  for (size_t i = 0; i < values.size(); ++i)
    json[manifest.losses[i].name] = values[i];
  return json;
}

} // namespace

Metrics::Metrics(const std::string &directory, const Manifest &manifest,
                 OlderLines older, int64_t step, bool tensorBoard)
    : manifest(manifest) {
  if (directory.empty())
    return;
  makeDirectories(directory);
  std::string path = directory + "/metrics.jsonl";
  if (older != OlderLines::Kept)
    replaceFile(path,
                older == OlderLines::UpToStep ? keptLines(path, step) : "");
  file = File::openToAppend(path);
  if (!tensorBoard)
    return;
  std::vector<std::string> all(plainTags.begin(), plainTags.end());
  for (const Loss &loss : manifest.losses) {
    lossTags.push_back("losses/" + loss.name);
    validationTags.push_back("val_losses/" + loss.name);
    all.insert(all.end(), {lossTags.back(), validationTags.back()});
  }
  events = EventFile(directory, step + 1, all);
}

void Metrics::update(const UpdateMetrics &m) {
  if (!file.isOpen())
    return;
  double padding =
      m.paddedFrames ? 1 - double(m.frames) / double(m.paddedFrames) : 0;
  Json json = {{"step", m.step},
               {"epoch", m.epoch},
               {"loss", m.loss},
               {"losses", byName(manifest, *m.losses)},
               {"lr", m.lr},
               {"grad_norm", m.gradNorm},
               {"utterances", m.utterances},
               {"frames", m.frames},
               {"padding_fraction", padding},
               {"seconds", m.seconds},
               {"skipped", m.skipped},
               {"loss_scale", m.lossScale}};
  file.write(json.dump() + "\n");
  if (!events.isOpen())
    return;
  events.begin(m.step);
  events.scalar(plainTags[Total], m.loss);
  for (size_t i = 0; i < lossTags.size(); ++i)
    events.scalar(lossTags[i], (*m.losses)[i]);
  events.scalar(plainTags[Rate], m.lr);
  events.scalar(plainTags[GradNorm], m.gradNorm);
  events.scalar(plainTags[Speed], double(m.frames) / m.seconds);
  events.scalar(plainTags[Padding], padding);
  events.end();
}

void Metrics::evaluation(int64_t step, double loss,
                         const std::vector<double> &losses, uint64_t utterances,
                         double seconds) {
  if (!file.isOpen())
    return;
  Json json = {{"step", step},
               {"val_loss", loss},
               {"val_losses", byName(manifest, losses)},
               {"utterances", utterances},
               {"seconds", seconds}};
  file.write(json.dump() + "\n");
  if (!events.isOpen())
    return;
  events.begin(step);
  events.scalar(plainTags[Validation], loss);
  for (size_t i = 0; i < validationTags.size(); ++i)
    events.scalar(validationTags[i], losses[i]);
  events.end();
}

std::array<double, FinalMetrics::count> FinalMetrics::numbers() const {
  return {double(plannedPeak),
          double(measuredPeak),
          double(peakAfterFirstUpdate),
          double(plannedArena),
          double(arenaHighWater),
          double(largeAllocations),
          double(bytesRead),
          double(bytesSent),
          startSeconds};
}

FinalMetrics FinalMetrics::fromNumbers(const double *n) {
  auto whole = [&](int i) { return uint64_t(n[i]); };
  return {whole(0), whole(1), whole(2), whole(3), whole(4),
          whole(5), whole(6), whole(7), n[8]};
}

static Json figuresJson(const FinalMetrics &m) {
  return {{"planned_peak_bytes", m.plannedPeak},
          {"measured_peak_bytes", m.measuredPeak},
          {"peak_after_first_update_bytes", m.peakAfterFirstUpdate},
          {"planned_arena_bytes", m.plannedArena},
          {"arena_high_water_bytes", m.arenaHighWater},
          {"large_allocations_after_start", m.largeAllocations},
          {"corpus_bytes_read", m.bytesRead},
          {"bytes_sent", m.bytesSent},
          {"start_seconds", m.startSeconds}};
}

void Metrics::final(const std::vector<FinalMetrics> &ranks,
                    const Json &experiment) {
  if (!file.isOpen())
    return;
  std::array<double, FinalMetrics::count> most = ranks.front().numbers();
  Json all = Json::array();
  for (const FinalMetrics &rank : ranks) {
    std::array<double, FinalMetrics::count> numbers = rank.numbers();
    for (size_t i = 0; i < most.size(); ++i)
      most[i] = std::max(most[i], numbers[i]);
    all.push_back(figuresJson(rank));
  }
  Json json = {{"final", true}};
  json.update(figuresJson(FinalMetrics::fromNumbers(most.data())));
  if (ranks.size() > 1)
    json["ranks"] = all;
  if (!experiment.is_null())
    json["experiment"] = experiment;
  file.write(json.dump() + "\n");
}

} // namespace tts::rt
