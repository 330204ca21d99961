//===- EarlySums.cpp - gradients are summed while backward runs ----------===//

#include "Runtime/Device/Cpu/EarlySums.h"
#include "Runtime/Memory/SmallThread.h"
#include <algorithm>
#include <numeric>
#include <utility>

namespace tts::rt {

namespace {

/// A part has so many bytes at least, or a sixteenth of all: enough for the
/// link, few enough that the last one is soon through.
constexpr uint64_t leastPart = 1 << 20, mostParts = 16;

bool overlaps(const TtsOperand &a, const TtsOperand &b) {
  return a.offset < b.offset + b.size && b.offset < a.offset + a.size;
}

} // namespace

EarlySums::EarlySums(const Table &table, const TtsEntry &entry,
                     void *const *operands, Transport &transport, bool alike)
    : table(table) {
  makeParts(entry, operands, transport, alike);
  thread = startSmallThread(enter, this, "sums over ranks");
}

EarlySums::~EarlySums() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    stopping = true;
  }
  changed.notify_all();
  pthread_join(thread, nullptr);
}

/// For each backward, by operand of the entry: how many entries have run when
/// none touches it any more.
std::map<uint32_t, std::vector<uint32_t>>
EarlySums::findLastTouches(const TtsEntry &entry) const {
  const TtsOperand *sums = table.operands.first + entry.first_operand;
  // Persistent bytes do not overlap: by offset the one that may hold another.
  std::vector<uint32_t> byOffset(entry.num_operands - 1);
  std::iota(byOffset.begin(), byOffset.end(), 0);
  std::sort(byOffset.begin(), byOffset.end(), [&](uint32_t a, uint32_t b) {
    return sums[a].offset < sums[b].offset;
  });
  std::map<uint32_t, std::vector<uint32_t>> touches;
  for (uint32_t p = 0; p < table.programs.size(); ++p) {
    const TtsProgram &record = table.programs[p];
    if (record.kind != TTS_PROGRAM_BACKWARD)
      continue;
    std::vector<uint32_t> &last = touches[p];
    last.assign(byOffset.size(), 0);
    for (uint32_t e = 0; e < record.num_entries; ++e) {
      const TtsEntry &one = table.entries[record.first_entry + e];
      for (uint32_t o = 0; o < one.num_operands; ++o) {
        const TtsOperand &operand = table.operands[one.first_operand + o];
        auto after = std::upper_bound(
            byOffset.begin(), byOffset.end(), operand.offset + operand.size - 1,
            [&](uint64_t end, uint32_t i) { return end < sums[i].offset; });
        while (after != byOffset.begin() && overlaps(sums[*--after], operand))
          last[*after] = e + 1;
      }
    }
  }
  return touches;
}

void EarlySums::makeParts(const TtsEntry &entry, void *const *operands,
                          Transport &transport, bool alike) {
  const TtsOperand *sums = table.operands.first + entry.first_operand;
  uint32_t count = entry.num_operands - 1;
  auto touches = findLastTouches(entry);
  std::vector<uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  // Where all ranks have the same table one bucket's order is everyone's.
  // Operands are in forward's order, which backward is through with in reverse.
  if (!alike) {
    std::reverse(order.begin(), order.end());
  } else if (!touches.empty()) {
    const std::vector<uint32_t> &last = touches.rbegin()->second;
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return last[a] < last[b]; });
  }
  uint64_t all = 0, bytes = 0;
  for (uint32_t i = 0; i < count; ++i)
    all += sums[i].size;
  TtsDType dtype = TtsDType(sums[0].dtype);
  std::vector<Pieces::Piece> pieces;
  std::map<uint32_t, uint32_t> ready;
  for (uint32_t place = 0; place < count; ++place) {
    uint32_t i = order[place];
    pieces.push_back({operands[i], sums[i].size / dtypeSize(dtype)});
    bytes += sums[i].size;
    for (auto &[program, last] : touches)
      ready[program] = std::max(ready[program], last[i]);
    bool isFull = bytes >= std::max(leastPart, all / mostParts);
    if (!isFull && place + 1 < count)
      continue;
    parts.push_back({Ring(transport, Pieces(std::move(pieces), dtype),
                          operands[count], sums[count].size),
                     std::move(ready)});
    pieces.clear();
    ready.clear();
    bytes = 0;
  }
}

void EarlySums::begin(uint32_t index) {
  done = 0;
  wanted = 0;
  {
    std::lock_guard<std::mutex> lock(mutex);
    program = index;
    begun = running = true;
  }
  changed.notify_all();
}

void EarlySums::wake() {
  // Whoever waits looks at `done` under the lock.
  { std::lock_guard<std::mutex> lock(mutex); }
  changed.notify_all();
}

void EarlySums::finish() {
  std::unique_lock<std::mutex> lock(mutex);
  if (!std::exchange(begun, false)) {
    lock.unlock();
    for (const Part &part : parts)
      part.ring.allReduce();
    return;
  }
  changed.wait(lock, [&] { return !running; });
  if (failure)
    std::rethrow_exception(std::exchange(failure, nullptr));
}

void EarlySums::waitFor(uint32_t entries) {
  wanted = entries; // before the look: whoever advances looks in turn
  if (done >= entries)
    return;
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [&] { return stopping || done >= entries; });
}

void EarlySums::work() {
  std::unique_lock<std::mutex> lock(mutex);
  while (!stopping) {
    if (!running) {
      changed.wait(lock);
      continue;
    }
    lock.unlock();
    std::exception_ptr error;
    try {
      for (const Part &part : parts) {
        waitFor(part.ready.at(program));
        if (stopping) // the run ended within this backward
          return;
        part.ring.allReduce();
      }
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    failure = error;
    running = false;
    changed.notify_all();
  }
}

void *EarlySums::enter(void *self) {
  takeShortTurns();
  static_cast<EarlySums *>(self)->work();
  return nullptr;
}

} // namespace tts::rt
