//===- Layout.cpp - live ranges and offsets -------------------------------===//

#include "Layout.h"
#include "mlir/IR/Threading.h"
#include "tts-runtime/Format.h"
#include "tts/Dialect/Rt/IR/RtDialect.h"
#include "tts/Transforms/Memory/Packing.h"
#include "llvm/Support/MathExtras.h"
#include <map>

using namespace mlir;
using namespace tts;
using namespace tts::memory;

namespace {
/// Positions of programs on timelines: a bucket's backward follows its forward.
void placeOnTimelines(MutableArrayRef<Program> programs) {
  std::map<std::pair<int64_t, int64_t>, std::pair<int, int64_t>> timelines;
  for (Program &program : programs) {
    int64_t kind = program.kind;
    if (kind == TTS_PROGRAM_BACKWARD)
      kind = TTS_PROGRAM_FORWARD;
    auto [it, inserted] =
        timelines.try_emplace({kind, program.bucket}, timelines.size(), 0);
    auto &[timeline, length] = it->second;
    program.timeline = timeline;
    program.firstPosition = length;
    length += program.entries.size();
  }
}

void touch(Storage *storage, int timeline, int64_t position) {
  if (storage->isPersistent())
    return;
  storage->timeline = timeline;
  storage->begin =
      storage->begin < 0 ? position : std::min(storage->begin, position);
  storage->end = std::max(storage->end, position);
}

/// What is scattered while other entries run stays until the next scatter
/// begins, or the program ends: until then the link is at it.
void holdScattered(Program &program) {
  int64_t end = program.entries.size();
  for (int64_t i = end - 1; i >= 0; --i) {
    auto scatter = dyn_cast<rt::ReduceScatterOp>(program.entries[i]);
    if (!scatter || !scatter->hasAttr(rt::kAheadAttr))
      continue;
    for (Value value : scatter.getValues())
      touch(program.places.lookup(value).storage, program.timeline,
            program.firstPosition + end - 1);
    end = i;
  }
}

void computeLiveRanges(Program &program) {
  for (auto [i, op] : llvm::enumerate(program.entries)) {
    int64_t position = program.firstPosition + i;
    auto touchValue = [&](Value value) {
      touch(program.places.lookup(value).storage, program.timeline, position);
    };
    llvm::for_each(op->getOperands(), touchValue);
    llvm::for_each(op->getResults(), touchValue);
    if (Storage *scratch = program.scratch.lookup(op))
      touch(scratch, program.timeline, position);
  }
  holdScattered(program);
  // Outputs are read after the program's last entry.
  for (auto &[value, place] : program.places)
    if (place.storage->role == Role::Output && !program.entries.empty())
      touch(place.storage, program.timeline,
            program.firstPosition + int64_t(program.entries.size()) - 1);
}

/// A pointwise result takes over its operand's bytes where both meet at this
/// entry only: the operand dies and the result begins. Not where the entry
/// reads those bytes a second time, through a view and perhaps at other
/// elements.
void takeOverDyingOperands(Program &program) {
  for (auto [i, op] : llvm::enumerate(program.entries)) {
    auto launch = dyn_cast<rt::LaunchOp>(op);
    if (!launch)
      continue;
    int64_t position = program.firstPosition + i;
    for (OpResult result : op->getResults()) {
      int64_t operand = launch.getInPlace()[result.getResultNumber()];
      if (operand < 0)
        continue;
      Place from = program.place(launch.getOperands()[operand]);
      Storage *to = program.place(result).storage;
      auto sharesBytes = [&](Value value) {
        return program.place(value).storage == from.storage;
      };
      if (llvm::count_if(launch.getOperands(), sharesBytes) != 1)
        continue;
      if (from.offset != 0 || from.storage == to ||
          from.storage->isPersistent() || to->isPersistent() ||
          from.storage->role == Role::Output || to->role != Role::None ||
          from.storage->size != to->size || from.storage->end != position ||
          to->begin != position)
        continue;
      to->mergedInto = from.storage;
      from.storage->end = to->end;
    }
  }
}

/// Persistent bytes by class, then by first appearance.
int64_t placePersistent(StorageTable &table) {
  static const Role order[] = {Role::Parameter, Role::HalfCopy, Role::Gradient,
                               Role::Partial,   Role::Moment1,  Role::Moment2,
                               Role::Ema,       Role::Next,     Role::Scalar,
                               Role::Input,     Role::Messages};
  int64_t top = 0;
  for (Role role : order)
    for (auto &[key, storage] : table.getPersistent())
      if (key.first == role) {
        storage->offset = top;
        top = llvm::alignTo(top + storage->size, TTS_ARENA_ALIGNMENT);
      }
  return top;
}

/// Above this many buffers half a percent is not worth a search, and no search
/// takes more steps than these (some 0.01 s each). The planner packs timelines
/// one by one, so neither depends on what else is in the arena.
constexpr size_t kExactBuffers = 1000;
constexpr int64_t kSearchWork = 1'000'000;
constexpr int64_t kSqueakyWork = 20'000'000;

/// Packs one timeline above `base`; returns the first byte above it.
int64_t packTimeline(ArrayRef<Storage *> storages, int64_t base) {
  std::vector<packing::Item> items;
  for (Storage *storage : storages)
    items.push_back({storage->begin, storage->end + 1, storage->size,
                     TTS_ARENA_ALIGNMENT, -1});
  packing::Options options;
  options.searchWork = kSearchWork;
  options.squeakyWork = kSqueakyWork;
  if (items.size() > kExactBuffers) {
    int64_t least = packing::maxLive(items);
    options.target = least + least / 200;
  }
  packing::Layout layout = packing::pack(items, options);
  for (auto [storage, offset] : llvm::zip(storages, layout.offsets))
    storage->offset = base + offset;
  return base + layout.height;
}
} // namespace

/// What forward keeps, one bucket's beside nothing but its own: all of it is
/// there at once. Returns the bytes of a slot.
static int64_t placeSlot(StorageTable &table, int64_t base) {
  std::map<int, int64_t> tops;
  int64_t most = 0;
  for (Storage &storage : table.getAll())
    if (storage.role == Role::Stash && storage.begin >= 0) {
      int64_t &top = tops[storage.timeline];
      storage.offset = base + top;
      top = llvm::alignTo(top + storage.size, TTS_ARENA_ALIGNMENT);
      most = std::max(most, top);
    }
  return most;
}

Layout memory::layOut(MLIRContext *context, MutableArrayRef<Program> programs,
                      StorageTable &table) {
  placeOnTimelines(programs);
  for (Program &program : programs)
    computeLiveRanges(program);
  for (Program &program : programs)
    takeOverDyingOperands(program);
  Layout layout;
  layout.persistentBytes = placePersistent(table);
  layout.arenaBytes = layout.persistentBytes;
  std::map<int, SmallVector<Storage *>> timelines;
  std::map<int, int64_t> bases;
  for (Program &program : programs) {
    int64_t &base = bases[program.timeline];
    base = layout.persistentBytes;
    if (program.slots > 1) {
      if (layout.slotBytes == 0)
        layout.slotBytes = placeSlot(table, base);
      base += program.slots * layout.slotBytes;
    }
  }
  for (Storage &storage : table.getAll())
    if (!storage.isPersistent() && !storage.mergedInto && storage.begin >= 0 &&
        storage.offset < 0)
      timelines[storage.timeline].push_back(&storage);
  SmallVector<std::pair<ArrayRef<Storage *>, int64_t>> parts;
  for (auto &[timeline, base] : bases)
    parts.push_back({timelines[timeline], base});
  std::vector<int64_t> tops(parts.size());
  parallelFor(context, 0, parts.size(), [&](size_t i) {
    tops[i] = packTimeline(parts[i].first, parts[i].second);
  });
  for (int64_t top : tops)
    layout.arenaBytes = std::max(layout.arenaBytes, top);
  layout.arenaBytes = llvm::alignTo(layout.arenaBytes, TTS_ARENA_ALIGNMENT);
  return layout;
}
