//===- Executor.cpp - the step loop --------------------------------------===//
//
// The OpenMP runtime is the one oneDNN uses: a second one would fight it for
// the cores.
//
//===----------------------------------------------------------------------===//

#include "Runtime/Device/Cpu/Executor.h"
#include "Runtime/Abi/Error.h"
#include "Runtime/Device/Cpu/AllReduce.h"
#include "Runtime/Device/Cpu/Shards.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <numeric>
#include <omp.h>
#include <set>
#include <string>
#include <string_view>

namespace tts::rt {

void parallelFor(TtsKernel kernel, void *const *operands, int64_t range,
                 int threads) {
  if (range <= 1 || threads <= 1) {
    if (range > 0)
      kernel(operands, 0, range);
    return;
  }
  // A loop, not one part per thread: if the system grants fewer threads the
  // parts, and with them the result, stay the same.
#pragma omp parallel for schedule(static, 1) num_threads(threads)
  for (int part = 0; part < threads; ++part) {
    int64_t lo = range * part / threads, hi = range * (part + 1) / threads;
    if (lo < hi)
      kernel(operands, lo, hi);
  }
}

Executor::Executor(const Table &table, const TtsKernel *kernels,
                   const Arena &arena, int threads, World *world)
    : table(table), arena(arena), threads(threads),
      convolutions(matmuls.engine()), world(world) {
  omp_set_dynamic(0);
  omp_set_num_threads(threads); // before oneDNN sizes its scratch
  addresses.reserve(table.operands.size());
  for (const TtsOperand &operand : table.operands)
    addresses.push_back(arena.at(operand.offset));
  calls.resize(table.entries.size());
  messages.resize(table.entries.size());
  for (uint32_t i = 0; i < table.entries.size(); ++i)
    prepare(i, kernels[table.entries[i].function]);
  for (const TtsProgram &program : table.programs) {
    uint64_t end = 0;
    for (uint32_t i = 0; i < program.num_entries; ++i) {
      const TtsEntry &entry = table.entries[program.first_entry + i];
      for (uint32_t o = 0; o < entry.num_operands; ++o) {
        const TtsOperand &operand = table.operands[entry.first_operand + o];
        end = std::max(end, operand.offset + operand.size);
      }
    }
    reaches.push_back(end);
  }
  prepareEarlySums();
  prepareMessenger();
}

/// Below this a second thread costs more than it saves.
static constexpr uint64_t worthThreads = 16 << 10;

uint64_t Executor::operandBytes(const TtsEntry &entry) const {
  uint64_t bytes = 0;
  for (uint32_t o = 0; o < entry.num_operands; ++o)
    bytes += table.operands[entry.first_operand + o].size;
  return bytes;
}

void Executor::prepare(uint32_t index, TtsKernel kernel) {
  const TtsEntry &entry = table.entries[index];
  const TtsFunction &function = table.functions[entry.function];
  std::string name = table.name(function.name);
  std::string where = std::string("entry '") + table.name(entry.name) + "'";
  Call &call = calls[index];
  call.operands = addresses.data() + entry.first_operand;
  call.range = entry.range;
  if (function.kind == TTS_FUNCTION_KERNEL) {
    call.kernel = kernel;
    call.threads = operandBytes(entry) < worthThreads ? 1 : threads;
    if (!kernel)
      throw Error(Exit::Refused, where, "kernel '" + name + "' is missing",
                  "recompile the model");
    return;
  }
  call.library = &findLibrary(entry, call.operands, where);
}

const LibraryCall &Executor::findLibrary(const TtsEntry &entry,
                                         void *const *operands,
                                         const std::string &where) {
  std::vector<uint64_t> bytes;
  for (uint32_t o = 0; o < entry.num_operands; ++o)
    bytes.push_back(table.operands[entry.first_operand + o].size);
  const int64_t *scalars = table.scalars.first + entry.first_scalar;
  std::string name = table.name(table.functions[entry.function].name);
  if (name == "rt.gemm")
    return matmuls.get(scalars, entry.num_scalars, bytes, where);
  if (name == "rt.conv1d")
    return convolutions.get(scalars, entry.num_scalars, bytes, where);
  if (name == "rt.all_reduce") {
    collectives.push_back(
        std::make_unique<AllReduce>(table, entry, operands, world, where));
    return *collectives.back();
  }
  if (auto call = makeMessage(name, table, entry, world, where)) {
    messages[size_t(&entry - table.entries.first)] = call.get();
    collectives.push_back(std::move(call));
    return *collectives.back();
  }
  if (auto call = makeShardCall(name, table, entry, operands, world, where)) {
    collectives.push_back(std::move(call));
    return *collectives.back();
  }
  throw Error(Exit::Refused, where,
              "this runtime has no function '" + name + "'",
              "recompile the model with this version of tts-compile");
}

void Executor::run(uint32_t index) {
  const TtsProgram &program = table.programs[index];
  reached = std::max(reached, reaches[index]);
  if (observer || timing)
    return runWatched(index);
  if (messenger)
    return runBeside(program);
  for (uint32_t i = 0; i < program.num_entries; ++i)
    runCall(calls[program.first_entry + i]);
}

void Executor::runBeside(const TtsProgram &program) {
  for (uint32_t i = 0; i < program.num_entries; ++i) {
    const Call &call = calls[program.first_entry + i];
    if (call.isAhead) {
      messenger->begin(*call.library);
      continue;
    }
    messenger->wait(call.after);
    runCall(call);
  }
  messenger->finish();
}

/// To measure what they hide.
static bool isSwitchedOff(const char *variable) {
  const char *wanted = std::getenv(variable);
  return wanted && std::string_view(wanted) == "0";
}

/// Collectives that other entries run beside, if there are any.
void Executor::prepareMessenger() {
  if (isSwitchedOff("TTS_PREFETCH"))
    return;
  size_t most = 0;
  for (const TtsProgram &program : table.programs) {
    size_t count = 0;
    std::vector<uint32_t> waits = findWaits(table, program);
    for (uint32_t i = 0; i < program.num_entries; ++i) {
      Call &call = calls[program.first_entry + i];
      call.after = waits[i];
      call.isAhead = isAhead(table, table.entries[program.first_entry + i]);
      count += call.isAhead;
    }
    most = std::max(most, count);
  }
  if (most > 0)
    messenger = std::make_unique<Messenger>(most);
}

/// The first sum of update, if its messages have room of their own: other
/// programs use the bytes of what lives in update alone.
void Executor::prepareEarlySums() {
  if (isSwitchedOff("TTS_EARLY_SUMS"))
    return;
  for (const TtsProgram &program : table.programs)
    for (uint32_t i = 0; i < program.num_entries; ++i) {
      const TtsEntry &entry = table.entries[program.first_entry + i];
      if (program.kind != TTS_PROGRAM_UPDATE || early ||
          std::string(table.name(table.functions[entry.function].name)) !=
              "rt.all_reduce")
        continue;
      const TtsOperand &room =
          table.operands[entry.first_operand + entry.num_operands - 1];
      // A number goes another way (AllReduce.h).
      bool isNumber = entry.num_operands == 2 &&
                      table.operands[entry.first_operand].size <= 8;
      if (isNumber || table.buffers[room.buffer].program != TTS_NO_BUCKET)
        continue;
      const Call &call = calls[program.first_entry + i];
      Transport &transport =
          static_cast<const AllReduce *>(call.library)->transport();
      if (transport.ranks() == 1)
        continue;
      early = std::make_unique<EarlySums>(table, entry, call.operands,
                                          transport, world->replicasAreAlike());
      for (auto &collective : collectives)
        if (collective.get() == call.library)
          static_cast<AllReduce &>(*collective).hasEarly(early.get());
    }
}

void Executor::runLastBackward(uint32_t index) {
  if (!early || observer || timing)
    return run(index);
  const TtsProgram &program = table.programs[index];
  reached = std::max(reached, reaches[index]);
  early->begin(index);
  for (uint32_t i = 0; i < program.num_entries; ++i) {
    runCall(calls[program.first_entry + i]);
    early->advance(i + 1);
  }
}

void Executor::finishEarlySums() {
  if (early && !observer && !timing)
    early->finish();
}

void Executor::runCall(const Call &call) {
  if (call.kernel)
    parallelFor(call.kernel, call.operands, call.range, call.threads);
  else
    call.library->run(matmuls.stream(), call.operands);
}

static double now(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

void Executor::runTimed(const Call &call, EntryTime &time) {
  double processor = now(CLOCK_THREAD_CPUTIME_ID), wall = now(CLOCK_MONOTONIC);
  runCall(call);
  time.seconds += now(CLOCK_MONOTONIC) - wall;
  time.processorSeconds += now(CLOCK_THREAD_CPUTIME_ID) - processor;
  ++time.calls;
}

void Executor::runWatched(uint32_t index) {
  const TtsProgram &program = table.programs[index];
  for (uint32_t i = 0; i < program.num_entries; ++i) {
    uint32_t entry = program.first_entry + i;
    if (timing)
      runTimed(calls[entry], measured[entry]);
    else
      runCall(calls[entry]);
    if (observer && !observer->after(index, entry))
      throw Error(Exit::Interrupted,
                  std::string("program '") + table.name(program.name) + "'",
                  std::string("the tap ended it after entry '") +
                      table.name(table.entries[entry].name) + "'",
                  "run it again without the tap");
  }
}

void Executor::time(bool on) {
  timing = on;
  if (on)
    measured.assign(table.entries.size(), EntryTime());
}

void Executor::rehearse() {
  std::set<const void *> done;
  std::vector<std::pair<uint64_t, uint64_t>> written; // offset, end
  for (uint32_t p = 0; p < table.programs.size(); ++p) {
    reached = std::max(reached, reaches[p]);
    const TtsProgram &program = table.programs[p];
    for (uint32_t i = 0; i < program.num_entries; ++i) {
      const Call &call = calls[program.first_entry + i];
      if (call.kernel)
        call.kernel(call.operands, 0, 0);
      else if (done.insert(call.library).second) {
        call.library->runOne(matmuls.stream(), call.operands);
        collectWritten(program.first_entry + i, written);
      }
    }
  }
  rehearseMessages();
  clear(std::move(written));
#pragma omp parallel num_threads(threads)
  { // start the threads: their stacks belong to the start, too
  }
}

/// Stages have different tables: in the order of channels they all agree, and
/// each comes once.
void Executor::rehearseMessages() {
  if (!world || world->stages() == 1)
    return;
  std::map<int, uint32_t> byChannel;
  std::set<int> outboxes;
  for (uint32_t e = 0; e < messages.size(); ++e)
    if (messages[e]) {
      byChannel.emplace(messages[e]->channel(), e);
      outboxes.insert(messages[e]->outbox());
    }
  std::vector<int> stages(size_t(world->stages()));
  std::iota(stages.begin(), stages.end(), 0);
  world->messages(Among::Stages)
      ->rehearsePosts(stages, int(world->maximum(double(outboxes.size()))));
  for (auto [channel, e] : byChannel)
    runCall(calls[e]);
  for (auto [channel, e] : byChannel)
    messages[e]->finish();
}

void Executor::collectWritten(
    uint32_t index, std::vector<std::pair<uint64_t, uint64_t>> &ranges) const {
  const TtsEntry &entry = table.entries[index];
  for (uint32_t o = 0; o < entry.num_operands; ++o) {
    const TtsOperand &operand = table.operands[entry.first_operand + o];
    if (operand.access & TTS_WRITE)
      ranges.emplace_back(operand.offset, operand.offset + operand.size);
  }
}

/// Each byte once, however many ranges hold it.
void Executor::clear(std::vector<std::pair<uint64_t, uint64_t>> ranges) {
  std::sort(ranges.begin(), ranges.end());
  uint64_t cleared = 0;
  for (auto [first, end] : ranges) {
    first = std::max(first, cleared);
    if (first < end)
      std::memset(arena.at(first), 0, end - first);
    cleared = std::max(cleared, end);
  }
}

size_t Executor::plainGemms() const {
  constexpr int64_t matters = 1 << 20; // multiply-adds: a millisecond
  size_t count = 0;
  for (const Gemm &gemm : matmuls.primitives())
    count += gemm.isPlain() && gemm.multiplyAdds() >= matters;
  return count;
}

uint64_t Executor::highWater() const {
  return (reached + TTS_ARENA_ALIGNMENT - 1) / TTS_ARENA_ALIGNMENT *
         TTS_ARENA_ALIGNMENT;
}

} // namespace tts::rt
