//===- Checkpoint.cpp - atomic checkpoint directories --------------------===//
//
// Layouts and names are made at start: saving only writes, so it allocates
// nothing large.
//
//===----------------------------------------------------------------------===//

#include "Runtime/Train/Checkpoint.h"
#include "Runtime/Abi/Error.h"
#include "Runtime/Train/Weights.h"
#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

namespace tts::rt {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

namespace {

constexpr const char *files[] = {"model.safetensors", "optimizer.safetensors",
                                 "ema.safetensors", "state.json"};

[[noreturn]] void cannotWrite(const std::string &path) {
  throw Error(Exit::CannotContinue, path,
              std::string("cannot be written (") + std::strerror(errno) + ")",
              "make room or fix the path, then --resume");
}

void renameTo(const std::string &from, const std::string &to) {
  if (std::rename(from.c_str(), to.c_str()) != 0)
    cannotWrite(to);
}

/// The number in PREFIX00000123, or -1.
int64_t stepOf(const std::string &name, const char *prefix) {
  size_t length = std::strlen(prefix);
  if (name.compare(0, length, prefix) != 0 || name.size() != length + 8 ||
      name.find_first_not_of("0123456789", length) != std::string::npos)
    return -1;
  return std::stoll(name.substr(length));
}

std::string stateText(const RunState &s) {
  Json json = {{"version", 1},
               {"step", s.step},
               {"seed", s.seed},
               {"epoch", s.position.epoch},
               {"position", s.position.taken},
               {"corpus", s.corpus},
               {"experiment", s.experiment.toJson()}};
  if (std::isfinite(s.bestLoss)) {
    json["best_val_loss"] = s.bestLoss;
    json["best_step"] = s.bestStep;
  }
  if (s.lossScale.enabled) {
    json["loss_scale"] = s.lossScale.value;
    json["loss_scale_updates"] = s.lossScale.since;
  }
  return json.dump(2) + "\n";
}

RunState parseState(const std::string &path) {
  RunState s;
  try {
    Json json = Json::parse(readWholeFile(path, 1 << 20));
    s.step = json.at("step").get<int64_t>();
    s.seed = json.at("seed").get<uint64_t>();
    s.position = {json.at("epoch").get<uint64_t>(),
                  json.at("position").get<uint64_t>()};
    s.corpus = json.at("corpus").get<uint64_t>();
    s.experiment = Experiment::fromJson(json);
    s.bestLoss = json.value("best_val_loss", s.bestLoss);
    s.bestStep = json.value("best_step", s.bestStep);
    s.lossScale.value = json.value("loss_scale", s.lossScale.value);
    s.lossScale.since = json.value("loss_scale_updates", s.lossScale.since);
  } catch (const Json::exception &e) {
    throw Error(Exit::BadInput, path,
                std::string("cannot be read (") + e.what() + ")",
                "resume from another checkpoint");
  }
  return s;
}

/// Which states of a parameter are saved.
struct States {
  bool moment1, moment2, ema;
};

/// Only its own stage knows; the stages' parameters come in the same order.
std::vector<States> findStates(const Manifest &manifest, World &world) {
  enum { Moment1 = 1, Moment2 = 2, Ema = 4, Owned = 1 << 16 };
  std::vector<double> bits;
  for (const Parameter &p : manifest.parameters)
    bits.push_back(manifest.owns(p)
                       ? (p.moment1 ? Moment1 : 0) + (p.moment2 ? Moment2 : 0) +
                             (p.ema ? Ema : 0) + Owned
                       : 0);
  if (manifest.stages.count > 1)
    for (size_t first = 0; first < bits.size(); first += World::most)
      world.sum(bits.data() + first, std::min(World::most, bits.size() - first),
                Among::Stages);
  std::vector<States> states;
  for (size_t i = 0; i < bits.size(); ++i) {
    int all = int(bits[i]);
    if (all / Owned != 1)
      throw Error(Exit::Refused,
                  "parameter '" + manifest.parameters[i].value.name + "'",
                  std::to_string(all / Owned) + " stages update it, not 1",
                  "recompile the model with this version of tts-compile");
    states.push_back(
        {(all & Moment1) != 0, (all & Moment2) != 0, (all & Ema) != 0});
  }
  return states;
}

} // namespace

Checkpoints::Checkpoints(const std::string &directory, const Manifest &manifest,
                         const Arena &arena, int64_t keep, World &world)
    : directory(directory), keep(keep), world(world),
      isShared(areShared(manifest)) {
  layOut(manifest, arena);
  if (isFirst())
    openDirectory();
  steps.reserve(steps.size() + size_t(std::min<int64_t>(keep, 1 << 20)) + 2);
}

/// All ranks lay out the same files, of which each writes its part.
void Checkpoints::layOut(const Manifest &manifest, const Arena &arena) {
  std::vector<States> states = findStates(manifest, world);
  for (size_t i = 0; i < states.size(); ++i) {
    const Parameter &p = manifest.parameters[i];
    auto add = [&](SafetensorsLayout &layout, const std::string &prefix,
                   Slice slice) {
      const Tensor &t = p.value;
      const char *data = arena.at(slice.offset);
      Part part = manifest.partOf(p, slice);
      bool isMine = manifest.owns(p) && world.replica() == 0;
      if (slice.isShard)
        layout.addPart(prefix + t.name, t.dtype, t.shape, data, part.first,
                       part.count);
      else if (isFirst() ? isMine : !isShared)
        layout.add(prefix + t.name, t.dtype, t.shape, data);
      else
        layout.addPart(prefix + t.name, t.dtype, t.shape, data, 0,
                       isMine ? part.count : 0);
    };
    add(model, "", p.value.at);
    if (states[i].moment1)
      add(optimizer, "moment1.", p.moment1);
    if (states[i].moment2)
      add(optimizer, "moment2.", p.moment2);
    if (states[i].ema)
      add(ema, "", p.ema);
    hasOptimizer |= states[i].moment1 || states[i].moment2;
    hasEma |= states[i].ema;
  }
  model.close();
  optimizer.close();
  ema.close();
}

void Checkpoints::openDirectory() {
  makeDirectories(directory);
  for (const auto &entry : fs::directory_iterator(directory)) {
    std::string name = entry.path().filename();
    if (stepOf(name, "step-") >= 0)
      steps.push_back(stepOf(name, "step-"));
    else if (stepOf(name, "best-") >= 0)
      best = std::max(best, stepOf(name, "best-"));
    else if (name[0] == '.' && entry.path().extension() == ".tmp") {
      if (unlink(entry.path().c_str()) != 0) // a link or file; else a directory
        remove(entry.path());
    }
  }
  std::sort(steps.begin(), steps.end());
}

std::string Checkpoints::path(const char *prefix, int64_t step) const {
  char name[32];
  std::snprintf(name, sizeof(name), "%s%08" PRId64, prefix, step);
  return directory + "/" + name;
}

void Checkpoints::writeFiles(const std::string &folder, const RunState &state) {
  auto write = [&](const char *name, const SafetensorsLayout &layout) {
    File file = File::openToWrite(folder + "/" + name);
    layout.writeWholes(file);
    file.syncAndClose();
  };
  write(files[0], model);
  if (hasOptimizer)
    write(files[1], optimizer);
  if (hasEma)
    write(files[2], ema);
  meet(); // the others know now that the files are there
  writeOwnParts(folder);
  File file = File::openToWrite(folder + "/" + files[3]);
  file.write(stateText(state));
  file.syncAndClose();
  syncDirectory(folder);
}

/// The first goes on when all have come to the end.
void Checkpoints::writeOwnParts(const std::string &folder) {
  const SafetensorsLayout *layouts[] = {&model, &optimizer, &ema};
  for (size_t i = 0; i < std::size(layouts); ++i) {
    if (!layouts[i]->hasParts())
      continue;
    File file = File::openToUpdate(folder + "/" + files[i]);
    layouts[i]->writeParts(file);
    file.syncAndClose();
  }
  meet();
}

void Checkpoints::writeWhole(const std::string &target, const RunState &state) {
  size_t slash = target.rfind('/');
  std::string beside = directory + "/." + target.substr(slash + 1) + ".tmp";
  if (!isFirst()) {
    meet();
    return writeOwnParts(beside);
  }
  if (mkdir(beside.c_str(), 0755) != 0 && errno != EEXIST)
    cannotWrite(beside);
  try {
    writeFiles(beside, state);
  } catch (...) {
    remove(beside);
    throw;
  }
  if (exists(target)) { // left by a run that went further before
    std::string old = directory + "/.replaced.tmp";
    renameTo(target, old);
    renameTo(beside, target);
    remove(old);
  } else {
    renameTo(beside, target);
  }
  syncDirectory(directory);
}

void Checkpoints::remove(const std::string &folder) const {
  // By name: listing a directory would allocate.
  for (const char *file : files)
    unlink((folder + "/" + file).c_str());
  rmdir(folder.c_str());
}

void Checkpoints::save(const RunState &state) {
  writeWhole(path("step-", state.step), state);
  steps.erase(std::remove(steps.begin(), steps.end(), state.step), steps.end());
  steps.push_back(state.step);
  std::sort(steps.begin(), steps.end());
  // Never the one just written, even where later ones lie around.
  for (size_t i = 0;
       isFirst() && int64_t(steps.size()) > keep && i < steps.size();) {
    if (steps[i] == state.step) {
      ++i;
      continue;
    }
    std::string gone = directory + "/.removed.tmp";
    renameTo(path("step-", steps[i]), gone);
    remove(gone);
    steps.erase(steps.begin() + long(i));
  }
}

void Checkpoints::saveBest(const RunState &state) {
  std::string target = path("best-", state.step);
  writeWhole(target, state);
  if (!isFirst())
    return;
  std::string link = directory + "/.best.tmp";
  unlink(link.c_str());
  if (symlink(target.c_str() + target.rfind('/') + 1, link.c_str()) != 0)
    cannotWrite(link);
  renameTo(link, directory + "/best");
  if (best >= 0 && best != state.step) {
    std::string gone = directory + "/.removed.tmp";
    renameTo(path("best-", best), gone);
    remove(gone);
  }
  best = state.step;
}

std::string findCheckpoint(const std::string &given) {
  if (exists(given + "/state.json"))
    return given;
  int64_t latest = -1;
  std::string found;
  if (isDirectory(given))
    for (const auto &entry : fs::directory_iterator(given)) {
      int64_t step = stepOf(entry.path().filename(), "step-");
      if (step > latest) {
        latest = step;
        found = entry.path();
      }
    }
  if (latest < 0)
    throw Error(
        Exit::BadInput, given, "there is no checkpoint to resume from",
        "check --resume or --checkpoint-dir, or start without --resume");
  return found;
}

RunState loadCheckpoint(const std::string &folder, const Manifest &manifest,
                        const Arena &arena) {
  RunState state = parseState(folder + "/state.json");
  loadWeights(manifest, arena, folder + "/" + files[0]);
  bool moments = false, averages = false;
  for (const Parameter &p : manifest.parameters) {
    moments |= p.moment1 || p.moment2;
    averages |= bool(p.ema);
  }
  if (moments) {
    File file = File::openToRead(folder + "/" + files[1]);
    loadStates(manifest, arena, file, &Parameter::moment1, "moment1.");
    loadStates(manifest, arena, file, &Parameter::moment2, "moment2.");
  }
  if (averages)
    loadStates(manifest, arena, File::openToRead(folder + "/" + files[2]),
               &Parameter::ema, "");
  return state;
}

} // namespace tts::rt
