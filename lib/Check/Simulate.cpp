// Runs the timeline on a map of bytes instead of memory.
#include "Simulate.h"

#include "ByteMap.h"

#include <algorithm>

using namespace tts::check;

namespace {

bool startsWith(const std::string &text, const char *prefix) {
  return text.rfind(prefix, 0) == 0;
}

class Simulation {
public:
  Simulation(const Table &table, const Programs &programs,
             const Manifest &manifest, Report &report)
      : table(table), programs(programs), manifest(manifest), report(report),
        born(table.entries.size()), dying(table.entries.size()) {
    for (uint32_t b = 0; b < table.buffers.size(); ++b) {
      const TtsBuffer &buffer = table.buffers[b];
      if (isPersistent(buffer))
        continue;
      born[entryOf(buffer.program, buffer.first_entry)].push_back(b);
      dying[entryOf(buffer.last_program, buffer.last_entry)].push_back(b);
    }
  }

  /// One update over `order`, every bucket's micro-batch in turn, then
  /// evaluation in the same order.
  void run(const std::vector<uint32_t> &order) {
    start();
    const bool apart = !manifest.updateInBackward;
    if (apart)
      runProgram(programs.zero);
    for (uint32_t b : order) {
      loadBatch(manifest.inputs[b]);
      if (programs.buckets[b].denominators != Programs::none)
        runProgram(programs.buckets[b].denominators);
    }
    define("scalar loss_weight.", true);
    define("scalar optimizer", !apart);
    runBatches(order);
    for (uint32_t fold : programs.folds) {
      if (fold != programs.folds.front())
        runBatches(order);
      runProgram(fold);
    }
    define("scalar optimizer", true);
    if (apart)
      runProgram(programs.update);
    define("scalar optimizer", false);
    define("scalar loss_weight.", false);
    for (uint32_t b : order) {
      const Programs::Bucket &bucket = programs.buckets[b];
      loadBatch(manifest.inputs[b]);
      handOut(bucket.eval, b, false);
      loadBatch(manifest.inferInputs[b]);
      handOut(bucket.infer, b, true);
    }
  }

private:
  void runBatches(const std::vector<uint32_t> &order) {
    const Stages &stages = manifest.stages;
    const size_t slots = stages.slots, ahead = slots - 1;
    const size_t count = order.size() * (slots > 1 ? 2 * slots : 1);
    auto bucketOf = [&](size_t i) { return order[i % order.size()]; };
    for (size_t i = 0; i < count + ahead; ++i) {
      if (i < count) {
        loadBatch(manifest.inputs[bucketOf(i)]);
        runProgram(programs.buckets[bucketOf(i)].forward[i % slots]);
      }
      if (i < ahead)
        continue;
      const size_t back = i - ahead; // a pipeline stage loads its inputs again
      if (slots > 1)
        loadBatch(manifest.inputs[bucketOf(back)]);
      runProgram(programs.buckets[bucketOf(back)].backward[back % slots]);
    }
  }

  const Table &table;
  const Programs &programs;
  const Manifest &manifest;
  Report &report;
  std::vector<std::vector<uint32_t>> born, dying; ///< transients by entry
  ByteMap map;

  size_t entryOf(uint32_t program, uint32_t entry) const {
    return size_t(table.programs[program].first_entry) + entry;
  }

  void assign(uint32_t index, bool defined) {
    const TtsBuffer &buffer = table.buffers[index];
    map.assign(buffer.offset, buffer.offset + buffer.size, {index, defined});
  }

  /// The persistent buffer that holds a region (checked before).
  uint32_t holderOf(const Region &region) const {
    for (uint32_t b = 0; b < table.buffers.size(); ++b) {
      const TtsBuffer &buffer = table.buffers[b];
      if (isPersistent(buffer) && region.offset >= buffer.offset &&
          region.end() <= buffer.offset + buffer.size)
        return b;
    }
    return ByteMap::nobody;
  }

  void defineRegion(const Region &region, bool defined) {
    if (region.size > 0)
      map.assign(region.offset, region.end(), {holderOf(region), defined});
  }

  /// All scalars whose name begins so.
  void define(const char *prefix, bool defined) {
    for (const Region &scalar : manifest.scalars)
      if (startsWith(scalar.name, prefix))
        defineRegion(scalar, defined);
  }

  void start() {
    for (uint32_t b = 0; b < table.buffers.size(); ++b) {
      const TtsBuffer &buffer = table.buffers[b];
      if (!isPersistent(buffer))
        continue;
      const bool byRuntime = buffer.klass == TTS_CLASS_PARAMETERS ||
                             buffer.klass == TTS_CLASS_HALF_COPIES ||
                             buffer.klass == TTS_CLASS_OPTIMIZER ||
                             buffer.klass == TTS_CLASS_EMA ||
                             buffer.klass == TTS_CLASS_BUFFERS;
      assign(b, byRuntime);
    }
    for (const char *prefix :
         {"scalar loss_weight.", "scalar denominator.", "scalar loss_sum.",
          "scalar grad_norm", "scalar optimizer"})
      define(prefix, false);
    for (const Parameter &parameter : manifest.parameters)
      if (parameter.next)
        defineRegion(*parameter.next, false);
  }

  void loadBatch(const std::vector<Region> &inputs) {
    for (uint32_t b = 0; b < table.buffers.size(); ++b)
      if (isPersistent(table.buffers[b]) &&
          table.buffers[b].klass == TTS_CLASS_BATCH)
        assign(b, false);
    for (const Region &input : inputs)
      defineRegion(input, true);
  }

  /// Runs eval or infer of a bucket: its outputs are defined at its end.
  void handOut(uint32_t program, uint32_t bucket, bool isInfer) {
    std::vector<char> given(manifest.outputs.size(), 0);
    const bool exists = program != Programs::none;
    if (exists)
      runProgram(program, &given);
    for (size_t i = 0; i < given.size(); ++i) {
      const Output &output = manifest.outputs[i];
      if (output.bucket == bucket && output.ofInfer == isInfer && !given[i])
        report.fail(exists ? table.programLabel(program) : "step table",
                    output.region.name +
                        (exists ? " is not wholly defined at the end"
                                : " is of infer, which does not exist"));
    }
  }

  void runProgram(uint32_t p, std::vector<char> *given = nullptr) {
    const TtsProgram &program = table.programs[p];
    for (uint32_t e = 0; e < program.num_entries; ++e) {
      const size_t index = entryOf(p, e);
      for (uint32_t b : born[index])
        assign(b, false);
      runEntry(p, e);
      if (given && e + 1 == program.num_entries)
        findOutputs(p, *given);
      for (uint32_t b : dying[index]) {
        const TtsBuffer &buffer = table.buffers[b];
        map.assign(buffer.offset, buffer.offset + buffer.size, {});
      }
    }
  }

  void runEntry(uint32_t p, uint32_t e) {
    const TtsEntry &entry = table.entries[entryOf(p, e)];
    const TtsOperand *operands = table.operands.data() + entry.first_operand;
    for (uint32_t i = 0; i < entry.num_operands; ++i) {
      const TtsOperand &operand = operands[i];
      if (!(operand.access & TTS_READ))
        continue;
      auto flaw = map.findFlaw(operand.offset, operand.offset + operand.size,
                               operand.buffer);
      if (flaw)
        report.fail(table.entryLabel(p, e),
                    "operand " + std::to_string(i) + " reads " +
                        describe(*flaw, operand.buffer));
    }
    for (uint32_t i = 0; i < entry.num_operands; ++i)
      if (operands[i].access & TTS_WRITE)
        map.assign(operands[i].offset, operands[i].offset + operands[i].size,
                   {operands[i].buffer, true});
  }

  std::string describe(const ByteMap::Flaw &flaw, uint32_t buffer) const {
    std::string text =
        "byte " + std::to_string(flaw.byte - table.buffers[buffer].offset) +
        " of " + table.bufferLabel(buffer);
    if (flaw.state.owner == buffer)
      return text + ", which nothing has defined";
    if (flaw.state.owner == ByteMap::nobody)
      return text + ", which nobody owns";
    return text + ", which " + table.bufferLabel(flaw.state.owner) +
           " has overwritten";
  }

  /// Marks the outputs that lie, defined, in buffers live at the last entry.
  void findOutputs(uint32_t p, std::vector<char> &given) const {
    const TtsProgram &program = table.programs[p];
    for (size_t i = 0; i < given.size(); ++i) {
      const Output &output = manifest.outputs[i];
      if (output.bucket != program.bucket)
        continue;
      for (uint32_t b = 0; b < table.buffers.size(); ++b) {
        const TtsBuffer &buffer = table.buffers[b];
        const bool lives = isPersistent(buffer) ||
                           (buffer.last_program == p &&
                            buffer.last_entry + 1 == program.num_entries);
        if (lives && output.region.offset >= buffer.offset &&
            output.region.end() <= buffer.offset + buffer.size &&
            !map.findFlaw(output.region.offset, output.region.end(), b))
          given[i] = 1;
      }
    }
  }
};

} // namespace

void tts::check::simulate(const Table &table, const Programs &programs,
                          const Manifest &manifest, Report &report) {
  std::vector<uint32_t> ascending, descending, doubled;
  for (uint32_t b = 0; b < programs.buckets.size(); ++b) {
    ascending.push_back(b);
    descending.insert(descending.begin(), b);
    doubled.insert(doubled.end(), {b, b});
  }
  Simulation simulation(table, programs, manifest, report);
  if (manifest.updateInBackward)
    doubled = ascending; // an update is one micro-batch
  for (const auto &order : {ascending, descending, doubled}) {
    const size_t before = report.faults();
    simulation.run(order);
    if (report.faults() != before)
      return; // another order would only say it again
  }
}
