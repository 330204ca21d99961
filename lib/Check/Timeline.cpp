// Walks the groups of the timeline: which buffers are live together, and when
// most bytes are.
#include "Timeline.h"

#include <algorithm>
#include <map>
#include <tuple>

using namespace tts::check;

namespace {

/// The slot of a program in `programs`, or null when it has none.
uint32_t *slotOf(const TtsProgram &program, Programs &programs) {
  const bool isPassed = program.kind == TTS_PROGRAM_FORWARD ||
                        program.kind == TTS_PROGRAM_BACKWARD;
  if (program.slot != 0 && !isPassed)
    return nullptr;
  const bool isFold =
      program.kind >= TTS_PROGRAM_FOLD && program.kind < TTS_NUM_PROGRAM_KINDS;
  const bool shared = isFold || program.kind == TTS_PROGRAM_ZERO ||
                      program.kind == TTS_PROGRAM_UPDATE;
  if (shared != (program.bucket == TTS_NO_BUCKET))
    return nullptr;
  if (isFold) {
    const size_t group = program.kind - TTS_PROGRAM_FOLD;
    if (programs.folds.size() <= group)
      programs.folds.resize(group + 1, Programs::none);
    return &programs.folds[group];
  }
  if (shared)
    return program.kind == TTS_PROGRAM_ZERO ? &programs.zero : &programs.update;
  if (program.bucket >= programs.buckets.size())
    return nullptr;
  Programs::Bucket &bucket = programs.buckets[program.bucket];
  switch (program.kind) {
  case TTS_PROGRAM_DENOMINATORS:
    return &bucket.denominators;
  case TTS_PROGRAM_FORWARD:
  case TTS_PROGRAM_BACKWARD: {
    auto &slots =
        program.kind == TTS_PROGRAM_FORWARD ? bucket.forward : bucket.backward;
    return program.slot < slots.size() ? &slots[program.slot] : nullptr;
  }
  case TTS_PROGRAM_EVAL:
    return &bucket.eval;
  case TTS_PROGRAM_INFER:
    return &bucket.infer;
  }
  return nullptr;
}

} // namespace

bool tts::check::findPrograms(const Table &table, const Manifest &manifest,
                              Report &report, Programs &programs) {
  const size_t before = report.faults(), numBuckets = manifest.inputs.size();
  programs.buckets.resize(numBuckets);
  for (Programs::Bucket &bucket : programs.buckets)
    for (auto *slots : {&bucket.forward, &bucket.backward})
      slots->assign(manifest.stages.slots, Programs::none);
  for (uint32_t p = 0; p < table.programs.size(); ++p) {
    uint32_t *slot = slotOf(table.programs[p], programs);
    if (!slot)
      report.fail("step table", "program " + table.programLabel(p) +
                                    " has no such bucket or slot");
    else if (*slot != Programs::none)
      report.fail("step table", "a second program " + table.programLabel(p));
    else
      *slot = p;
  }
  auto need = [&](uint32_t program, const std::string &name) {
    if (program == Programs::none)
      report.fail("step table", "no program " + name);
  };
  for (auto [program, name] :
       {std::pair(programs.zero, "zero"), {programs.update, "update"}})
    if (!manifest.updateInBackward)
      need(program, name);
    else if (program != Programs::none)
      report.fail("step table", std::string("a program ") + name +
                                    ", though backward updates");
  for (size_t g = 0; g < programs.folds.size(); ++g)
    need(programs.folds[g], "fold." + std::to_string(g));
  if (programs.folds.size() != manifest.folds())
    report.fail("step table", std::to_string(programs.folds.size()) +
                                  " folds instead of " +
                                  std::to_string(manifest.folds()));
  for (size_t b = 0; b < numBuckets; ++b) {
    const std::string index = "[" + std::to_string(b) + "]";
    if (manifest.stages.count == 1 || manifest.hasLoss())
      need(programs.buckets[b].denominators, "denominators" + index);
    for (uint64_t slot = 0; slot < manifest.stages.slots; ++slot) {
      const std::string suffix =
          index + (slot ? "." + std::to_string(slot) : "");
      need(programs.buckets[b].forward[slot], "forward" + suffix);
      need(programs.buckets[b].backward[slot], "backward" + suffix);
    }
    need(programs.buckets[b].eval, "eval" + index);
  }
  return report.faults() == before;
}

namespace {

class Sweep {
public:
  Sweep(const Table &table, Report &report)
      : table(table), report(report), groupStart(table.programs.size(), 0),
        byProgram(table.programs.size()) {}

  Peak run(const Programs &programs) {
    checkPlaces();
    for (uint32_t b = 0; b < table.buffers.size(); ++b)
      if (isPersistent(table.buffers[b]))
        enter(b);
      else
        byProgram[table.buffers[b].program].push_back(b);
    peak = {liveBytes, liveClasses};
    if (programs.zero != Programs::none)
      group({programs.zero});
    for (const Programs::Bucket &bucket : programs.buckets) {
      if (bucket.denominators != Programs::none)
        group({bucket.denominators});
      std::vector<uint32_t> passes = bucket.forward;
      passes.insert(passes.end(), bucket.backward.begin(),
                    bucket.backward.end());
      group(passes);
    }
    for (uint32_t fold : programs.folds)
      group({fold});
    if (programs.update != Programs::none)
      group({programs.update});
    for (const Programs::Bucket &bucket : programs.buckets)
      group({bucket.eval});
    for (const Programs::Bucket &bucket : programs.buckets)
      if (bucket.infer != Programs::none)
        group({bucket.infer});
    return peak;
  }

private:
  const Table &table;
  Report &report;
  std::vector<uint64_t> groupStart;             ///< of a program in its group
  std::vector<std::vector<uint32_t>> byProgram; ///< transients that begin there
  std::multimap<uint64_t, uint32_t> live;       ///< buffers by offset
  uint64_t liveBytes = 0;
  std::array<uint64_t, numClasses> liveClasses{};
  Peak peak;

  void checkPlaces() {
    const uint64_t arena = table.header.arena_bytes;
    for (uint32_t b = 0; b < table.buffers.size(); ++b) {
      const TtsBuffer &buffer = table.buffers[b];
      if (buffer.size == 0)
        report.fail(table.bufferLabel(b), "has no bytes");
      if (buffer.offset % TTS_ARENA_ALIGNMENT != 0)
        report.fail(table.bufferLabel(b),
                    "offset " + std::to_string(buffer.offset) +
                        " is no multiple of " +
                        std::to_string(TTS_ARENA_ALIGNMENT));
      if (buffer.offset > arena || buffer.size > arena - buffer.offset)
        report.fail(table.bufferLabel(b),
                    "ends beyond arena_bytes " + std::to_string(arena));
    }
  }

  void enter(uint32_t index) {
    const TtsBuffer &buffer = table.buffers[index];
    auto place = live.insert({buffer.offset, index});
    if (auto above = std::next(place);
        above != live.end() && above->first - buffer.offset < buffer.size)
      clash(index, above->second);
    if (place != live.begin()) {
      auto below = std::prev(place);
      if (buffer.offset - below->first < table.buffers[below->second].size)
        clash(index, below->second);
    }
    liveBytes += buffer.size;
    liveClasses[buffer.klass] += buffer.size;
  }

  void leave(uint32_t index) {
    const TtsBuffer &buffer = table.buffers[index];
    auto [first, last] = live.equal_range(buffer.offset);
    auto place = std::find_if(
        first, last, [&](const auto &each) { return each.second == index; });
    live.erase(place);
    liveBytes -= buffer.size;
    liveClasses[buffer.klass] -= buffer.size;
  }

  void clash(uint32_t a, uint32_t b) {
    report.fail(table.bufferLabel(a), "shares bytes with " +
                                          table.bufferLabel(b) +
                                          " while both are live");
  }

  void group(const std::vector<uint32_t> &programs) {
    struct Event {
      uint64_t position;
      bool begins; // ends first: a buffer is live to its last entry inclusive
      uint32_t buffer;
    };
    uint64_t start = 0;
    for (uint32_t p : programs) {
      groupStart[p] = start;
      start += table.programs[p].num_entries;
    }
    std::vector<Event> events;
    for (uint32_t p : programs)
      for (uint32_t b : byProgram[p]) {
        const TtsBuffer &buffer = table.buffers[b];
        events.push_back(
            {groupStart[buffer.program] + buffer.first_entry, true, b});
        events.push_back(
            {groupStart[buffer.last_program] + buffer.last_entry + 1, false,
             b});
      }
    std::sort(events.begin(), events.end(), [](const Event &a, const Event &b) {
      return std::tie(a.position, a.begins, a.buffer) <
             std::tie(b.position, b.begins, b.buffer);
    });
    for (size_t i = 0; i < events.size(); ++i) {
      if (events[i].begins)
        enter(events[i].buffer);
      else
        leave(events[i].buffer);
      const bool last = i + 1 == events.size() ||
                        events[i + 1].position != events[i].position;
      if (last && liveBytes > peak.bytes)
        peak = {liveBytes, liveClasses};
    }
  }
};

} // namespace

Peak tts::check::checkTimeline(const Table &table, const Programs &programs,
                               Report &report) {
  return Sweep(table, report).run(programs);
}

static bool isLiveAt(const Table &table, const TtsBuffer &buffer,
                     uint32_t program, uint32_t entry) {
  if (isPersistent(buffer))
    return true;
  if (program == buffer.program)
    return entry >= buffer.first_entry &&
           (buffer.last_program != program || entry <= buffer.last_entry);
  return program == buffer.last_program && entry <= buffer.last_entry;
}

/// Whether other entries run beside a collective, which is at its operands
/// until one of them touches those bytes.
static bool runsOn(const Table &table, const TtsEntry &entry) {
  const TtsFunction &function = table.functions[entry.function];
  const uint32_t scalars =
      std::string("rt.reduce_scatter") == table.name(function.name) ? 2 : 1;
  return function.kind == TTS_FUNCTION_LIBRARY &&
         (scalars == 2 ||
          std::string("rt.all_gather") == table.name(function.name)) &&
         entry.num_scalars > scalars;
}

/// A live range begins and ends with an access; what `eval` and `infer` hand
/// out lasts to their end, what a collective is at while others run may last
/// longer than them.
static void checkTightness(const Table &table, Report &report) {
  std::vector<char> first(table.buffers.size(), 0), last(first);
  for (uint32_t p = 0; p < table.programs.size(); ++p)
    for (uint32_t e = 0; e < table.programs[p].num_entries; ++e) {
      const TtsEntry &entry = table.entries[table.programs[p].first_entry + e];
      const bool lasts = runsOn(table, entry);
      for (uint32_t i = 0; i < entry.num_operands; ++i) {
        const uint32_t b = table.operands[entry.first_operand + i].buffer;
        const TtsBuffer &buffer = table.buffers[b];
        first[b] |= buffer.program == p && buffer.first_entry == e;
        last[b] |=
            buffer.last_program == p && (buffer.last_entry == e || lasts);
      }
    }
  for (uint32_t b = 0; b < table.buffers.size(); ++b) {
    const TtsBuffer &buffer = table.buffers[b];
    if (isPersistent(buffer))
      continue;
    const TtsProgram &program = table.programs[buffer.last_program];
    const bool handedOut = (program.kind == TTS_PROGRAM_EVAL ||
                            program.kind == TTS_PROGRAM_INFER) &&
                           buffer.last_entry + 1 == program.num_entries;
    if (!first[b])
      report.fail(table.bufferLabel(b), "is not accessed where it begins");
    if (!last[b] && !handedOut)
      report.fail(table.bufferLabel(b), "is not accessed where it ends");
  }
}

/// Threads run parts of an entry at the same time: what one operand writes,
/// another may share only byte for byte (in place), and a gemm not at all.
static void checkSharing(const Table &table, const TtsEntry &entry,
                         const std::string &label, Report &report) {
  const TtsFunction &function = table.functions[entry.function];
  const bool inPlace = function.kind == TTS_FUNCTION_KERNEL;
  const TtsOperand *operands = table.operands.data() + entry.first_operand;
  for (uint32_t i = 0; i < entry.num_operands; ++i)
    for (uint32_t k = i + 1; k < entry.num_operands; ++k) {
      const TtsOperand &a = operands[i], &b = operands[k];
      const bool meet =
          a.offset < b.offset + b.size && b.offset < a.offset + a.size;
      const bool same = a.offset == b.offset && a.size == b.size;
      if (meet && ((a.access | b.access) & TTS_WRITE) && !(inPlace && same))
        report.fail(label, "operands " + std::to_string(i) + " and " +
                               std::to_string(k) +
                               " share bytes that one of them writes");
    }
}

void tts::check::checkOperands(const Table &table, Report &report) {
  checkTightness(table, report);
  for (uint32_t p = 0; p < table.programs.size(); ++p)
    for (uint32_t e = 0; e < table.programs[p].num_entries; ++e) {
      const TtsEntry &entry = table.entries[table.programs[p].first_entry + e];
      checkSharing(table, entry, table.entryLabel(p, e), report);
      uint32_t accesses = 0;
      for (uint32_t i = 0; i < entry.num_operands; ++i) {
        const TtsOperand &operand = table.operands[entry.first_operand + i];
        const TtsBuffer &buffer = table.buffers[operand.buffer];
        accesses |= operand.access;
        const std::string which = "operand " + std::to_string(i);
        if (operand.size == 0)
          report.fail(table.entryLabel(p, e), which + " has no bytes");
        if (operand.offset % elementSize(operand.dtype) != 0)
          report.fail(table.entryLabel(p, e),
                      which + " starts in the middle of an element");
        if (operand.offset < buffer.offset || operand.size > buffer.size ||
            operand.offset - buffer.offset > buffer.size - operand.size)
          report.fail(table.entryLabel(p, e),
                      which + " lies outside " +
                          table.bufferLabel(operand.buffer));
        if (!isLiveAt(table, buffer, p, e))
          report.fail(table.entryLabel(p, e),
                      which + " is of " + table.bufferLabel(operand.buffer) +
                          ", which is not live there");
      }
      if (!(accesses & TTS_WRITE))
        report.fail(table.entryLabel(p, e), "writes nothing");
    }
}
