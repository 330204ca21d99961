//===- Messenger.cpp - collectives beside which other entries run --------===//

#include "Runtime/Device/Cpu/Messenger.h"
#include "Runtime/Memory/SmallThread.h"
#include <string>
#include <utility>

namespace tts::rt {

bool isAhead(const Table &table, const TtsEntry &entry) {
  const TtsFunction &function = table.functions[entry.function];
  if (function.kind != TTS_FUNCTION_LIBRARY || entry.num_scalars < 2)
    return false;
  std::string name = table.name(function.name);
  return (name == "rt.all_gather" ||
          (name == "rt.reduce_scatter" && entry.num_scalars > 2)) &&
         table.scalars.first[entry.first_scalar + entry.num_scalars - 1] != 0;
}

static bool clash(const Table &table, const TtsEntry &a, const TtsEntry &b) {
  const TtsOperand *ofA = table.operands.first + a.first_operand;
  const TtsOperand *ofB = table.operands.first + b.first_operand;
  for (uint32_t i = 0; i < a.num_operands; ++i)
    for (uint32_t k = 0; k < b.num_operands; ++k)
      if (((ofA[i].access | ofB[k].access) & TTS_WRITE) &&
          ofA[i].offset < ofB[k].offset + ofB[k].size &&
          ofB[k].offset < ofA[i].offset + ofA[i].size)
        return true;
  return false;
}

std::vector<uint32_t> findWaits(const Table &table, const TtsProgram &program) {
  std::vector<uint32_t> waits(program.num_entries, 0);
  std::vector<const TtsEntry *> begun;
  size_t through = 0; // of those, for certain
  for (uint32_t i = 0; i < program.num_entries; ++i) {
    const TtsEntry &entry = table.entries[program.first_entry + i];
    if (isAhead(table, entry)) { // comes after the others by itself
      begun.push_back(&entry);
      continue;
    }
    for (size_t k = begun.size(); k > through; --k)
      if (clash(table, *begun[k - 1], entry)) {
        waits[i] = uint32_t(k);
        through = k;
      }
  }
  return waits;
}

Messenger::Messenger(size_t most) : calls(most) {
  thread = startSmallThread(enter, this, "exchange of shards");
}

Messenger::~Messenger() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    stopping = true;
  }
  changed.notify_all();
  pthread_join(thread, nullptr);
}

void Messenger::begin(const LibraryCall &call) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    calls[begun++] = &call;
  }
  changed.notify_all();
}

void Messenger::waitFor(uint32_t count) {
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [&] { return failure || through >= count; });
  if (failure)
    std::rethrow_exception(std::exchange(failure, nullptr));
}

void Messenger::finish() {
  wait(uint32_t(begun)); // which this thread alone changes
  std::lock_guard<std::mutex> lock(mutex);
  begun = 0;
  through = 0;
}

void Messenger::work() {
  std::unique_lock<std::mutex> lock(mutex);
  for (;;) {
    changed.wait(lock, [&] { return stopping || through < begun; });
    if (stopping)
      return;
    const LibraryCall *call = calls[through];
    lock.unlock();
    std::exception_ptr error;
    try {
      call->run(nullptr, nullptr);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    if (error) { // the run ends with it, whatever was begun behind
      failure = error;
      changed.notify_all();
      changed.wait(lock, [&] { return stopping; });
      return;
    }
    ++through;
    changed.notify_all();
  }
}

void *Messenger::enter(void *self) {
  takeShortTurns();
  static_cast<Messenger *>(self)->work();
  return nullptr;
}

} // namespace tts::rt
