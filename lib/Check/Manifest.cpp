// Reads the manifest inside the table and checks that what it names lies in
// buffers of the right class.
#include "Manifest.h"

#include <algorithm>

using namespace tts::check;

/// Bytes of a parameter or of a rank's shard of it.
static uint64_t sizeOf(const Parameter &parameter, bool isShard,
                       uint64_t ranks) {
  const uint64_t elements = isShard && ranks
                                ? (parameter.elements + ranks - 1) / ranks
                                : parameter.elements;
  return elements * parameter.elementBytes;
}

namespace {

class Reader {
public:
  Reader(const Table &table, Report &report, Manifest &manifest)
      : table(table), report(report), manifest(manifest) {}

  bool read() {
    manifest.json = Json::parse(table.manifest, nullptr, false);
    if (!manifest.json.is_object()) {
      fail("is no JSON object");
      return false;
    }
    const size_t before = report.faults();
    manifest.arenaBytes = bytes("arena_bytes");
    manifest.peakBytes = bytes("peak_bytes");
    manifest.budgetBytes = bytes("budget_bytes");
    manifest.overheadBytes = bytes("overhead_bytes");
    if (bytes("host_buffer_bytes") > manifest.overheadBytes)
      fail("host_buffer_bytes is more than overhead_bytes");
    if (!member(manifest.json, "groups").is_null()) {
      manifest.groups = bytes("groups");
      manifest.ranks = bytes("ranks");
      if (manifest.ranks == 0 || manifest.groups % manifest.ranks != 0)
        fail("its ranks cannot share the groups");
    }
    const Json &inBackward = member(manifest.json, "update_in_backward");
    manifest.ranks =
        member(manifest.json, "ranks").is_null() ? 1 : bytes("ranks");
    manifest.updateInBackward =
        inBackward.is_boolean() && inBackward.get<bool>();
    readStages();
    for (const Json &each : list(manifest.json, "parameters"))
      readParameter(each);
    for (const Json &each : list(manifest.json, "scalars"))
      manifest.scalars.push_back(region(each, "scalar"));
    for (const Json &bucket : list(manifest.json, "buckets")) {
      manifest.inputs.emplace_back();
      for (const Json &each : list(bucket, "inputs"))
        manifest.inputs.back().push_back(region(each, "input"));
      manifest.inferInputs.emplace_back();
      if (!member(bucket, "infer_inputs").is_null())
        for (const Json &each : list(bucket, "infer_inputs"))
          manifest.inferInputs.back().push_back(region(each, "infer input"));
    }
    readOutputs();
    if (auto layer = asText(member(manifest.json, "whole_batch")))
      checkWhole(*layer + " looks at the whole update");
    if (manifest.updateInBackward)
      checkWhole("backward updates the parameters after the whole update");
    return report.faults() == before;
  }

private:
  const Table &table;
  Report &report;
  Manifest &manifest;

  void fail(const std::string &what) { report.fail("manifest", what); }

  uint64_t bytes(const char *key) {
    auto value = asBytes(member(manifest.json, key));
    if (!value)
      fail(std::string("no number of bytes ") + key);
    return value.value_or(0);
  }

  /// The array under `key`; an empty one and a line when it is none.
  const Json &list(const Json &value, const char *key) {
    static const Json empty = Json::array();
    const Json &found = member(value, key);
    if (found.is_array())
      return found;
    fail(std::string("no list ") + key);
    return empty;
  }

  Region region(const Json &value, const std::string &what) {
    Region result;
    result.name =
        what + " " + asText(member(value, "name")).value_or("without a name");
    auto offset = asBytes(member(value, "offset"));
    auto size = asBytes(member(value, "size"));
    const uint64_t arena = table.header.arena_bytes;
    if (!offset || !size || *offset > arena || *size > arena - *offset) {
      fail(result.name + " has no bytes in the arena");
      return result;
    }
    result.offset = *offset;
    result.size = *size;
    const Json &shard = member(value, "shard");
    result.isShard = shard.is_boolean() && shard.get<bool>();
    return result;
  }

  std::optional<Region> state(const Json &parameter, const char *key,
                              const std::string &name) {
    const Json &value = member(parameter, key);
    if (value.is_null())
      return std::nullopt;
    Region result = region(value, key);
    result.name = std::string(key) + " of " + name;
    return result;
  }

  /// Elements, and bytes of one: what a shard is measured by.
  void readExtent(const Json &value, Parameter &parameter) {
    constexpr uint64_t most = uint64_t(1) << 40;
    parameter.elementBytes = asText(member(value, "dtype")) == "F64" ? 8 : 4;
    parameter.elements = parameter.value.size / parameter.elementBytes;
    if (!member(value, "shape").is_array())
      return;
    parameter.elements = 1;
    for (const Json &extent : member(value, "shape")) {
      const uint64_t size = asBytes(extent).value_or(most + 1);
      if (size > most || parameter.elements > most)
        return fail(parameter.value.name + " has no sound shape");
      parameter.elements *= size;
    }
  }

  /// A region is as long as the parameter, or as a rank's shard of it.
  void checkExtent(const Parameter &parameter, const Region &region) {
    if (region.isShard && manifest.ranks < 2)
      fail(region.name + " is a shard, but there is one rank");
    if (region.size < sizeOf(parameter, region.isShard, manifest.ranks))
      fail(region.name + " is smaller than " +
           (region.isShard ? "a shard of " : "") + "the parameter");
  }

  void readStages() {
    const Json &stages = member(manifest.json, "stages");
    if (stages.is_null())
      return;
    auto number = [&](const char *key) {
      return asBytes(member(stages, key)).value_or(UINT64_MAX);
    };
    const Stages read{number("count"), number("index"), number("slots")};
    constexpr uint64_t most = 1 << 16;
    if (read.count == 0 || read.count > most || read.index >= read.count ||
        read.slots == 0 || read.slots > most || manifest.ranks == 0 ||
        manifest.ranks % read.count != 0)
      return fail("its stages are not those of its ranks");
    manifest.stages = read;
    if (read.count > 1 && (manifest.updateInBackward || manifest.groups > 1))
      fail("a pipeline stage that sums in groups or updates in backward");
  }

  /// False for a parameter that is on another stage only.
  bool readPlace(const Json &value) {
    Place place{asText(member(value, "name")).value_or(""),
                manifest.stages.index, !member(value, "offset").is_null(), 0};
    if (const Json &stage = member(value, "stage"); !stage.is_null())
      place.stage = asBytes(stage).value_or(manifest.stages.count);
    if (place.stage >= manifest.stages.count)
      fail("parameter " + place.name + " is on no stage");
    manifest.places.push_back(place);
    const bool isOwn = place.stage == manifest.stages.index;
    if (!isOwn)
      for (const char *state : {"moment1", "moment2", "ema", "next"})
        if (!member(value, state).is_null())
          fail("parameter " + place.name + " is another stage's but has " +
               state);
    return isOwn || place.isHere;
  }

  void readParameter(const Json &value) {
    Parameter parameter;
    const bool isHere = readPlace(value);
    if (!isHere) {
      readExtent(value, parameter);
      manifest.places.back().elements = parameter.elements;
      return;
    }
    parameter.value = region(value, "parameter");
    const std::string &name = parameter.value.name;
    const Json &frozen = member(value, "frozen");
    parameter.frozen = frozen.is_boolean() && frozen.get<bool>();
    readExtent(value, parameter);
    manifest.places.back().elements = parameter.elements;
    checkExtent(parameter, parameter.value);
    parameter.gradient = state(value, "gradient", name);
    parameter.moment1 = state(value, "moment1", name);
    parameter.moment2 = state(value, "moment2", name);
    parameter.ema = state(value, "ema", name);
    parameter.halfCopy = state(value, "half_copy", name);
    parameter.next = state(value, "next", name);
    for (const auto &state : {parameter.gradient, parameter.moment1,
                              parameter.moment2, parameter.ema, parameter.next})
      if (state)
        checkExtent(parameter, *state);
    const bool isTrained = !parameter.frozen && !parameter.next;
    const bool owesGradient = isTrained && !manifest.updateInBackward;
    if (parameter.next && (parameter.frozen || parameter.gradient))
      fail(name + " has a next value but is frozen or trained");
    else if (owesGradient && !parameter.gradient)
      fail(name + " is trained without a gradient");
    else if (!owesGradient && parameter.gradient)
      fail(name + (parameter.frozen ? " is frozen but has a gradient"
                                    : " is updated in backward but keeps a "
                                      "gradient"));
    manifest.parameters.push_back(std::move(parameter));
  }

  /// What needs the whole update has it in one micro-batch.
  void checkWhole(const std::string &what) {
    const Json &buckets = list(manifest.json, "buckets");
    auto batch = asBytes(member(manifest.json, "batch"));
    auto micro = buckets.size() == 1
                     ? asBytes(member(buckets.front(), "micro_batch"))
                     : std::nullopt;
    if (!batch || !micro || *micro < *batch)
      fail(what + ", which is split");
  }

  void readOutputs() {
    for (const Json &each : list(manifest.json, "outputs")) {
      Output output{region(each, "output"), 0, false};
      if (const Json &program = member(each, "program"); !program.is_null()) {
        output.ofInfer = asText(program) == "infer";
        if (!output.ofInfer && asText(program) != "eval")
          fail(output.region.name + " is of no program that has outputs");
      }
      auto bucket = asBytes(member(each, "bucket"));
      if (!bucket || *bucket >= manifest.inputs.size())
        fail(output.region.name + " is of no bucket");
      output.bucket = bucket.value_or(0);
      manifest.outputs.push_back(std::move(output));
    }
  }
};

/// Regions against the table's persistent buffers.
class Regions {
public:
  Regions(const Table &table, Report &report) : table(table), report(report) {
    for (const TtsBuffer &buffer : table.buffers)
      if (isPersistent(buffer))
        persistent.push_back(&buffer);
    std::sort(persistent.begin(), persistent.end(),
              [](const TtsBuffer *a, const TtsBuffer *b) {
                return a->offset < b->offset;
              });
  }

  void checkClass(const Region &region, uint32_t klass) {
    auto after = std::upper_bound(
        persistent.begin(), persistent.end(), region.offset,
        [](uint64_t o, const TtsBuffer *b) { return o < b->offset; });
    if (after != persistent.begin()) {
      const TtsBuffer &buffer = **std::prev(after);
      if (region.end() <= buffer.offset + buffer.size && buffer.klass == klass)
        return;
    }
    report.fail("manifest", region.name +
                                " lies in no persistent buffer of class " +
                                className(klass));
  }

  void checkDisjoint(std::vector<const Region *> regions) {
    std::sort(
        regions.begin(), regions.end(),
        [](const Region *a, const Region *b) { return a->offset < b->offset; });
    for (size_t i = 1; i < regions.size(); ++i)
      if (regions[i]->offset < regions[i - 1]->end())
        report.fail("manifest", regions[i]->name + " shares bytes with " +
                                    regions[i - 1]->name);
  }

private:
  const Table &table;
  Report &report;
  std::vector<const TtsBuffer *> persistent;
};

} // namespace

bool tts::check::readManifest(const Table &table, Report &report,
                              Manifest &manifest) {
  return Reader(table, report, manifest).read();
}

void tts::check::checkRegions(const Table &table, const Manifest &manifest,
                              Report &report) {
  Regions regions(table, report);
  std::vector<const Region *> lasting;
  auto check = [&](const Region &region, uint32_t klass) {
    regions.checkClass(region, klass);
    lasting.push_back(&region);
  };
  auto checkState = [&](const std::optional<Region> &state, uint32_t klass) {
    if (!state)
      return;
    check(*state, klass);
  };
  for (const Parameter &parameter : manifest.parameters) {
    check(parameter.value, TTS_CLASS_PARAMETERS);
    checkState(parameter.gradient, TTS_CLASS_GRADIENTS);
    checkState(parameter.moment1, TTS_CLASS_OPTIMIZER);
    checkState(parameter.moment2, TTS_CLASS_OPTIMIZER);
    checkState(parameter.ema, TTS_CLASS_EMA);
    checkState(parameter.next, TTS_CLASS_BUFFERS);
    if (!parameter.halfCopy)
      continue;
    check(*parameter.halfCopy, TTS_CLASS_HALF_COPIES);
    if (parameter.halfCopy->size * 2 !=
        sizeOf(parameter, parameter.halfCopy->isShard, manifest.ranks))
      report.fail("manifest", parameter.halfCopy->name +
                                  " has not half the parameter's size");
  }
  for (const Region &scalar : manifest.scalars)
    check(scalar, TTS_CLASS_BUFFERS);
  regions.checkDisjoint(lasting);
  for (const auto *buckets : {&manifest.inputs, &manifest.inferInputs})
    for (const std::vector<Region> &inputs : *buckets) {
      std::vector<const Region *> batch;
      for (const Region &input : inputs) {
        regions.checkClass(input, TTS_CLASS_BATCH);
        batch.push_back(&input);
      }
      regions.checkDisjoint(batch);
    }
}
