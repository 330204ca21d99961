// All stages of a pipeline together: their parameters, their channels, and the
// runtime's schedule run on messages alone.
#include "Messages.h"

#include <algorithm>
#include <map>
#include <tuple>

using namespace tts::check;

namespace {

/// What a stage does that others may have to wait for.
struct Step {
  enum Kind { Send, Receive, Meet } kind;
  uint64_t peer = 0;
  int64_t channel = 0;
  uint32_t outbox = 0; ///< buffer
  std::string label;
};

/// The steps of a stage over an update and a validation.
class Script {
public:
  Script(const Stage &stage) : stage(stage), table(*stage.table) {}

  std::vector<Step> write(const std::vector<uint32_t> &order) {
    const Programs &programs = *stage.programs;
    const Stages &stages = stage.manifest->stages;
    for (uint32_t b : order)
      add(programs.buckets[b].denominators);
    meet();
    const size_t ahead =
        std::min(stages.count - 1 - stages.index, stages.slots - 1);
    for (size_t i = 0; i < order.size() + ahead; ++i) {
      if (i < order.size())
        add(programs.buckets[order[i]].forward[i % stages.slots]);
      if (i >= ahead && i - ahead < order.size())
        add(programs.buckets[order[i - ahead]]
                .backward[(i - ahead) % stages.slots]);
    }
    meet();
    add(programs.update);
    meet();
    for (uint32_t b : order)
      add(programs.buckets[b].eval);
    meet();
    return std::move(steps);
  }

private:
  const Stage &stage;
  const Table &table;
  std::vector<Step> steps;

  void meet() { steps.push_back({Step::Meet, 0, 0, 0, "a sum over all"}); }

  void add(uint32_t program) {
    if (program == Programs::none)
      return;
    const TtsProgram &record = table.programs[program];
    for (uint32_t e = 0; e < record.num_entries; ++e) {
      const TtsEntry &entry = table.entries[record.first_entry + e];
      const std::string name = table.name(table.functions[entry.function].name);
      const int64_t *scalars = table.scalars.data() + entry.first_scalar;
      Step step;
      step.label = "stage " + std::to_string(stage.manifest->stages.index) +
                   ": " + table.entryLabel(program, e);
      if (name == "rt.send" || name == "rt.recv") {
        step.kind = name == "rt.send" ? Step::Send : Step::Receive;
        step.peer = uint64_t(scalars[TTS_MESSAGE_STAGE]);
        step.channel = scalars[TTS_MESSAGE_CHANNEL];
        if (step.kind == Step::Send)
          step.outbox = table.operands[entry.first_operand + 1].buffer;
      } else if (name == "rt.all_reduce" && entry.num_scalars == 1 &&
                 scalars[0] == TTS_AMONG_STAGES) {
        step.kind = Step::Meet;
      } else {
        continue;
      }
      steps.push_back(step);
    }
  }
};

/// Stages take their steps as far as they can; a message that nobody has room
/// for waits for the one before of its outbox.
class Schedule {
public:
  Schedule(const std::vector<Stage> &stages,
           const std::vector<uint32_t> &order) {
    for (const Stage &stage : stages)
      scripts.push_back(Script(stage).write(order));
    at.resize(scripts.size());
  }

  void run(Report &report) {
    while (advance()) {
    }
    for (size_t s = 0; s < scripts.size(); ++s)
      if (at[s] < scripts[s].size())
        report.fail(scripts[s][at[s]].label, "waits for ever");
    for (const auto &[key, count] : under)
      if (count > 0)
        report.fail("pipeline", "channel " + std::to_string(std::get<2>(key)) +
                                    " is sent but not received");
  }

private:
  std::vector<std::vector<Step>> scripts;
  std::vector<size_t> at;
  std::map<std::tuple<uint64_t, uint64_t, int64_t>, int> under; ///< way
  /// By stage and outbox: the message in it.
  std::map<std::pair<uint64_t, uint32_t>,
           std::tuple<uint64_t, uint64_t, int64_t>>
      outboxes;

  bool advance() {
    bool any = false;
    for (uint64_t s = 0; s < scripts.size(); ++s)
      while (at[s] < scripts[s].size() && take(s, scripts[s][at[s]])) {
        ++at[s];
        any = true;
      }
    const bool all = std::all_of(at.begin(), at.end(), [&](size_t &place) {
      const auto &script = scripts[size_t(&place - at.data())];
      return place < script.size() && script[place].kind == Step::Meet;
    });
    for (size_t &place : at)
      place += all;
    return any || all;
  }

  bool take(uint64_t s, const Step &step) {
    if (step.kind == Step::Meet)
      return false; // all together
    if (step.kind == Step::Receive) {
      int &count = under[{step.peer, s, step.channel}];
      return count > 0 ? count--, true : false;
    }
    const std::tuple<uint64_t, uint64_t, int64_t> key{s, step.peer,
                                                      step.channel};
    auto before = outboxes.find({s, step.outbox});
    if (before != outboxes.end() && under[before->second] > 0)
      return false;
    outboxes[{s, step.outbox}] = key;
    ++under[key];
    return true;
  }
};

/// Who sends and who receives on each channel, and how much.
void checkSizes(const std::vector<Stage> &stages, Report &report) {
  std::map<int64_t, std::tuple<uint64_t, uint64_t, uint64_t>> known;
  for (const Stage &stage : stages)
    for (const TtsEntry &entry : stage.table->entries) {
      const Table &table = *stage.table;
      const std::string name = table.name(table.functions[entry.function].name);
      if (name != "rt.send" && name != "rt.recv")
        continue;
      const int64_t *scalars = &table.scalars[entry.first_scalar];
      uint64_t from = stage.manifest->stages.index,
               to = uint64_t(scalars[TTS_MESSAGE_STAGE]);
      if (name == "rt.recv")
        std::swap(from, to);
      const std::tuple<uint64_t, uint64_t, uint64_t> here{
          from, to, table.operands[entry.first_operand].size};
      auto [place, isFirst] =
          known.insert({scalars[TTS_MESSAGE_CHANNEL], here});
      if (!isFirst && place->second != here)
        report.fail("pipeline",
                    "channel " + std::to_string(scalars[TTS_MESSAGE_CHANNEL]) +
                        " has other ends or bytes in stage " +
                        std::to_string(stage.manifest->stages.index));
    }
}

/// All know the same parameters, and each is where they say.
void checkPlaces(const std::vector<Stage> &stages, Report &report) {
  const std::vector<Place> &first = stages.front().manifest->places;
  for (const Stage &stage : stages) {
    const Manifest &manifest = *stage.manifest;
    const std::string here = "stage " + std::to_string(manifest.stages.index);
    if (manifest.places.size() != first.size()) {
      report.fail("pipeline", here + " has another number of parameters");
      continue;
    }
    for (size_t i = 0; i < first.size(); ++i) {
      const Place &place = manifest.places[i];
      if (place.name != first[i].name || place.stage != first[i].stage)
        report.fail("pipeline", "parameter " + place.name + " of " + here +
                                    " is another elsewhere");
      if (place.stage == manifest.stages.index && !place.isHere)
        report.fail("pipeline", "parameter " + place.name + " is not on " +
                                    here + ", which updates it");
    }
  }
}

} // namespace

void tts::check::checkPipeline(const std::vector<Stage> &stages,
                               Report &report) {
  if (stages.empty() || stages.front().manifest->stages.count == 1)
    return;
  const size_t before = report.faults();
  for (size_t s = 0; s < stages.size(); ++s) {
    const Stages &here = stages[s].manifest->stages;
    if (here.count != stages.size() || here.index != s)
      report.fail("pipeline",
                  "table " + std::to_string(s) + " is not of its stage");
    else if (s > 0 && here.slots > stages[s - 1].manifest->stages.slots)
      report.fail("pipeline", "stage " + std::to_string(s) +
                                  " has more slots than the one before");
    if (stages[s].programs->buckets.size() !=
        stages.front().programs->buckets.size())
      report.fail("pipeline", "stage " + std::to_string(s) +
                                  " has another number of buckets");
  }
  if (report.faults() != before)
    return;
  checkPlaces(stages, report);
  checkSizes(stages, report);
  // One micro-batch, which is fewer than there are slots, and more, bucket by
  // bucket and in turn.
  const uint32_t buckets = uint32_t(stages.front().programs->buckets.size());
  std::vector<std::vector<uint32_t>> orders = {{0}, {}, {}};
  for (uint32_t b = 0; b < buckets; ++b)
    for (size_t i = 0; i < stages.size() + 1; ++i) {
      orders[1].push_back(b);
      orders[2].push_back(uint32_t((i + b) % buckets));
    }
  for (const std::vector<uint32_t> &order : orders) {
    if (report.faults() != before)
      return;
    Schedule(stages, order).run(report);
  }
}
