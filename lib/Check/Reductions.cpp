// With several ranks: that every gradient is summed over them (of a pipeline,
// the replicas of its stage) exactly once per update, before anything else
// reads it.
#include "Simulate.h"

using namespace tts::check;

namespace {

class Reductions {
public:
  Reductions(const Table &table, const Programs &programs,
             const Manifest &manifest, Report &report)
      : table(table), programs(programs), manifest(manifest), report(report) {}

  void check() {
    for (const Parameter &parameter : manifest.parameters) {
      if (!parameter.gradient)
        continue;
      const Region &gradient = *parameter.gradient;
      if (!gradient.isShard) {
        expect(programs.update, gradient, manifest.replicas() > 1);
        for (const Programs::Bucket &bucket : programs.buckets)
          for (uint32_t backward : bucket.backward)
            expect(backward, gradient, 0);
        continue;
      }
      // Each micro-batch's contribution is summed as it is added.
      expect(programs.update, gradient, 0);
      for (const Programs::Bucket &bucket : programs.buckets)
        expect(bucket.backward.front(), gradient, 1);
    }
    if (manifest.stages.count > 1)
      checkNorm();
  }

private:
  const Table &table;
  const Programs &programs;
  const Manifest &manifest;
  Report &report;

  bool isReduction(const TtsEntry &entry) const {
    const TtsFunction &function = table.functions[entry.function];
    const std::string name = table.name(function.name);
    return function.kind == TTS_FUNCTION_LIBRARY &&
           (name == "rt.all_reduce" || name == "rt.reduce_scatter");
  }

  int64_t amongOf(const TtsEntry &entry) const {
    return entry.num_scalars ? table.scalars[entry.first_scalar]
                             : int64_t(TTS_AMONG_ALL);
  }

  /// Of a pipeline: what the norm is made of is summed over the stages once.
  void checkNorm() {
    const TtsProgram &update = table.programs[programs.update];
    unsigned sums = 0;
    for (uint32_t e = 0; e < update.num_entries; ++e) {
      const TtsEntry &entry = table.entries[update.first_entry + e];
      if (isReduction(entry) && amongOf(entry) == TTS_AMONG_STAGES)
        ++sums;
      for (uint32_t i = 0; i < entry.num_operands; ++i) {
        const TtsOperand &operand = table.operands[entry.first_operand + i];
        for (const Region &scalar : manifest.scalars)
          if (scalar.name == "scalar grad_norm" && sums != 1 &&
              (operand.access & TTS_WRITE) && operand.offset < scalar.end() &&
              scalar.offset < operand.offset + operand.size)
            report.fail(table.entryLabel(programs.update, e),
                        "makes the norm of one stage's gradients");
      }
    }
  }

  /// Program `p` sums `gradient` so often; where it does, nobody touches it
  /// before.
  void expect(uint32_t p, const Region &gradient, unsigned times) {
    const TtsProgram &program = table.programs[p];
    unsigned found = 0;
    for (uint32_t e = 0; e < program.num_entries; ++e) {
      const TtsEntry &entry = table.entries[program.first_entry + e];
      bool touches = false, covers = false;
      for (uint32_t i = 0; i < entry.num_operands; ++i) {
        const TtsOperand &operand = table.operands[entry.first_operand + i];
        const uint64_t end = operand.offset + operand.size;
        touches |= operand.offset < gradient.end() && gradient.offset < end;
        covers |= operand.access == TTS_READ_WRITE &&
                  operand.offset <= gradient.offset && gradient.end() <= end;
      }
      if (covers && isReduction(entry)) {
        ++found;
        if (manifest.stages.count > 1 && amongOf(entry) != TTS_AMONG_REPLICAS)
          report.fail(table.entryLabel(p, e),
                      "sums " + gradient.name +
                          " over other ranks than the replicas of its stage");
      } else if (touches && times > 0 && found == 0)
        report.fail(table.entryLabel(p, e),
                    "touches " + gradient.name +
                        " before it is summed over the ranks");
    }
    if (found != times)
      report.fail(table.programLabel(p),
                  "sums " + gradient.name + " over the ranks " +
                      std::to_string(found) + " times, not " +
                      std::to_string(times));
  }
};

} // namespace

void tts::check::checkReductions(const Table &table, const Programs &programs,
                                 const Manifest &manifest, Report &report) {
  if (manifest.ranks > 1)
    Reductions(table, programs, manifest, report).check();
}
