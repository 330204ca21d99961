// What each program must have written for the runtime, and what it may write at
// all.
#include "Simulate.h"

#include <algorithm>

using namespace tts::check;

namespace {

/// The lasting bytes that a program reads or writes, as sorted disjoint
/// intervals.
class Touched {
public:
  Touched(const Table &table, uint32_t program, TtsAccess access) {
    std::vector<std::pair<uint64_t, uint64_t>> all;
    const TtsProgram &record = table.programs[program];
    for (uint32_t e = 0; e < record.num_entries; ++e) {
      const TtsEntry &entry = table.entries[record.first_entry + e];
      for (uint32_t i = 0; i < entry.num_operands; ++i) {
        const TtsOperand &operand = table.operands[entry.first_operand + i];
        if ((operand.access & access) &&
            isPersistent(table.buffers[operand.buffer]))
          all.push_back({operand.offset, operand.offset + operand.size});
      }
    }
    std::sort(all.begin(), all.end());
    for (const auto &each : all)
      if (!merged.empty() && each.first <= merged.back().second)
        merged.back().second = std::max(merged.back().second, each.second);
      else
        merged.push_back(each);
  }

  bool cover(const Region &region) const {
    auto after = std::upper_bound(
        merged.begin(), merged.end(), region.offset,
        [](uint64_t o, const auto &interval) { return o < interval.first; });
    return region.size == 0 || (after != merged.begin() &&
                                region.end() <= std::prev(after)->second);
  }

  bool touch(const Region &region) const {
    return std::any_of(merged.begin(), merged.end(), [&](const auto &each) {
      return each.first < region.end() && region.offset < each.second;
    });
  }

private:
  std::vector<std::pair<uint64_t, uint64_t>> merged;
};

class Obligations {
public:
  Obligations(const Table &table, const Programs &programs,
              const Manifest &manifest, Report &report)
      : table(table), programs(programs), manifest(manifest), report(report) {
    if (!manifest.updateInBackward)
      updating.push_back(programs.update);
    else
      for (const Programs::Bucket &bucket : programs.buckets)
        updating.push_back(bucket.backward.front());
    for (uint32_t p = 0; p < table.programs.size(); ++p) {
      reads.emplace_back(table, p, TTS_READ);
      writes.emplace_back(table, p, TTS_WRITE);
    }
  }

  void check() {
    for (const Programs::Bucket &bucket : programs.buckets) {
      scalars(bucket.denominators, "scalar denominator.");
      for (uint32_t forward : bucket.forward)
        scalars(forward, "scalar loss_sum.");
      scalars(bucket.eval, "scalar denominator.");
      scalars(bucket.eval, "scalar loss_sum.");
      for (uint32_t backward : bucket.backward)
        use(backward, "scalar loss_weight.");
    }
    for (uint32_t p : updating) {
      use(p, "scalar optimizer");
      scalars(p, "scalar grad_norm");
      for (const Parameter &parameter : manifest.parameters)
        checkUpdate(p, parameter);
    }
    checkFolds();
    checkRights();
  }

private:
  const Table &table;
  const Programs &programs;
  const Manifest &manifest;
  Report &report;
  std::vector<Touched> reads, writes; ///< by program
  std::vector<uint32_t> updating;     ///< programs that write parameters

  /// What `p`, which updates the parameters, owes this one.
  void checkUpdate(uint32_t p, const Parameter &parameter) {
    if (parameter.next) {
      advance(p, parameter);
      return;
    }
    if (parameter.frozen) {
      for (uint32_t other = 0; other < writes.size(); ++other)
        if (writes[other].touch(parameter.value))
          report.fail(table.programLabel(other),
                      "writes " + parameter.value.name + ", which is frozen");
      return;
    }
    if (parameter.gradient) {
      owe(programs.zero, *parameter.gradient);
      for (const Programs::Bucket &bucket : programs.buckets)
        for (uint32_t backward : bucket.backward)
          owe(backward, *parameter.gradient);
      if (!reads[p].cover(*parameter.gradient))
        report.fail(table.programLabel(p),
                    "does not read all of " + parameter.gradient->name);
    }
    owe(p, parameter.value);
    for (const auto &state : {parameter.moment1, parameter.moment2,
                              parameter.ema, parameter.halfCopy})
      if (state)
        owe(p, *state);
  }

  /// A group's gradient is taken and cleared; the last fold makes the sum of it
  /// and of all that was put aside.
  void checkFolds() {
    for (uint32_t fold : programs.folds)
      for (uint32_t b = 0; b < table.buffers.size(); ++b) {
        const TtsBuffer &buffer = table.buffers[b];
        if (buffer.klass != TTS_CLASS_GRADIENTS || !isPersistent(buffer))
          continue;
        const Region region{table.bufferLabel(b), buffer.offset, buffer.size};
        const bool isGradient =
            std::any_of(manifest.parameters.begin(), manifest.parameters.end(),
                        [&](const Parameter &parameter) {
                          return parameter.gradient &&
                                 parameter.gradient->offset == region.offset;
                        });
        if (isGradient)
          owe(fold, region);
        if ((isGradient || fold == programs.folds.back()) &&
            !reads[fold].cover(region))
          report.fail(table.programLabel(fold),
                      "does not read all of " + region.name);
      }
  }

  void owe(uint32_t program, const Region &region) {
    if (!writes[program].cover(region))
      report.fail(table.programLabel(program),
                  "does not write all of " + region.name);
  }

  void scalars(uint32_t program, const char *prefix) {
    for (const Region &scalar : manifest.scalars)
      if (scalar.name.rfind(prefix, 0) == 0)
        owe(program, scalar);
  }

  /// A state's next value is made by every forward and taken over by update.
  void advance(uint32_t p, const Parameter &parameter) {
    for (const Programs::Bucket &bucket : programs.buckets)
      for (uint32_t forward : bucket.forward)
        owe(forward, *parameter.next);
    if (!reads[p].cover(*parameter.next))
      report.fail(table.programLabel(p),
                  "does not read all of " + parameter.next->name);
    owe(p, parameter.value);
  }

  /// Reads some of every scalar whose name begins so.
  void use(uint32_t program, const char *prefix) {
    for (const Region &scalar : manifest.scalars)
      if (scalar.name.rfind(prefix, 0) == 0 && !reads[program].touch(scalar))
        report.fail(table.programLabel(program),
                    "does not read " + scalar.name);
  }

  bool mayWrite(uint32_t kind, uint32_t klass) const {
    switch (klass) {
    case TTS_CLASS_PARAMETERS:
    case TTS_CLASS_HALF_COPIES:
    case TTS_CLASS_OPTIMIZER:
    case TTS_CLASS_EMA:
      return kind == (manifest.updateInBackward ? TTS_PROGRAM_BACKWARD
                                                : TTS_PROGRAM_UPDATE);
    case TTS_CLASS_GRADIENTS:
      return kind == TTS_PROGRAM_ZERO || kind == TTS_PROGRAM_BACKWARD ||
             kind == TTS_PROGRAM_UPDATE || kind >= TTS_PROGRAM_FOLD;
    case TTS_CLASS_BATCH:
      return false;
    case TTS_CLASS_BUFFERS: // what it tells, it tells in outputs
      return kind != TTS_PROGRAM_INFER;
    }
    return true;
  }

  /// Transients are a program's own; only what lasts is protected.
  void checkRights() {
    for (uint32_t p = 0; p < table.programs.size(); ++p)
      for (uint32_t e = 0; e < table.programs[p].num_entries; ++e) {
        const TtsEntry &entry =
            table.entries[table.programs[p].first_entry + e];
        for (uint32_t i = 0; i < entry.num_operands; ++i) {
          const TtsOperand &operand = table.operands[entry.first_operand + i];
          const TtsBuffer &buffer = table.buffers[operand.buffer];
          if ((operand.access & TTS_WRITE) && isPersistent(buffer) &&
              !mayWrite(table.programs[p].kind, buffer.klass))
            report.fail(table.entryLabel(p, e),
                        "operand " + std::to_string(i) + " writes " +
                            table.bufferLabel(operand.buffer) + " of class " +
                            className(buffer.klass));
        }
      }
  }
};

} // namespace

void tts::check::checkObligations(const Table &table, const Programs &programs,
                                  const Manifest &manifest, Report &report) {
  Obligations(table, programs, manifest, report).check();
}
