//===- Shards.cpp - sharded states in the step table ----------------------===//
//
// What ranks exchange they exchange in the rehearsal as well: all rehearse the
// same table, so they meet, and what MPI allocates for its first messages it
// allocates then.
//
//===----------------------------------------------------------------------===//

#include "Runtime/Device/Cpu/Shards.h"

namespace tts::rt {

namespace {

/// What the three calls have in common, out of an entry: pairs of an array and
/// its shard, perhaps room for messages.
struct Arguments {
  std::vector<ShardedRing::Array> arrays;
  TtsDType dtype = TTS_F32;
  void *room = nullptr;
  uint64_t roomBytes = 0;
};

class Reader {
public:
  Reader(const Table &table, const TtsEntry &entry, void *const *addresses,
         World *world, const std::string &where)
      : entry(entry), operands(table.operands.first + entry.first_operand),
        addresses(addresses), where(where) {
    if (!world || !world->messages())
      refuseEntry(where, "it shards over ranks, but there is one");
    ranks = world->ranks();
    int64_t planned =
        entry.num_scalars ? table.scalars.first[entry.first_scalar] : 0;
    if (planned != ranks)
      refuseEntry(where, "it shards over " + std::to_string(planned) +
                             " ranks, but there are " + std::to_string(ranks));
  }

  /// Operands: `wholes` arrays from `firstWhole` on and as many shards from
  /// `firstShard` on (none: at the arrays' fronts).
  Arguments read(uint32_t count, uint32_t firstWhole, int64_t firstShard,
                 bool hasRoom) {
    Arguments arguments;
    if (count == 0 || !hasOperands(count, firstShard < 0 ? 1 : 2, hasRoom))
      refuseEntry(where, "it has another number of operands than it needs");
    arguments.dtype = TtsDType(operands[0].dtype);
    uint64_t size = dtypeSize(arguments.dtype);
    for (uint32_t i = 0; i < count; ++i) {
      const TtsOperand &whole = operands[firstWhole + i];
      char *shard = nullptr;
      if (firstShard >= 0) {
        const TtsOperand &part = operands[firstShard + i];
        shard = static_cast<char *>(addresses[firstShard + i]);
        if (part.size != shardElements(whole.size / size, ranks) * size)
          refuseEntry(where, "a shard has not the size of its array's");
        checkType(part, arguments.dtype);
      }
      checkType(whole, arguments.dtype);
      arguments.arrays.push_back(
          {static_cast<char *>(addresses[firstWhole + i]), shard,
           whole.size / size});
    }
    if (hasRoom) {
      arguments.room = addresses[entry.num_operands - 1];
      arguments.roomBytes = operands[entry.num_operands - 1].size;
    }
    return arguments;
  }

private:
  bool hasOperands(uint32_t count, uint32_t each, bool hasRoom) const {
    return entry.num_operands == count * each + hasRoom;
  }
  void checkType(const TtsOperand &operand, TtsDType dtype) const {
    if (operand.dtype != dtype)
      refuseEntry(where, "its operands are of several types");
  }

  const TtsEntry &entry;
  const TtsOperand *operands;
  void *const *addresses;
  const std::string &where;
  int ranks = 1;
};

/// Copies; no rank waits.
class Shard : public LibraryCall {
public:
  Shard(Arguments given, World &world)
      : arguments(std::move(given)), world(world) {}
  void run(dnnl_stream_t, void *const *) const override {
    for (const ShardedRing::Array &array : arguments.arrays)
      copyToShard(array.whole, array.shard, array.elements,
                  dtypeSize(arguments.dtype), world.rank(), world.ranks());
  }
  void runOne(dnnl_stream_t s, void *const *o) const override { run(s, o); }
  const char *implementation() const override { return "copy"; }

private:
  Arguments arguments;
  World &world;
};

class ReduceScatter : public LibraryCall {
public:
  ReduceScatter(const Arguments &a, bool adds, World &world)
      : ring(*world.messages(), a.arrays, a.dtype, a.room, a.roomBytes),
        adds(adds) {}
  void run(dnnl_stream_t, void *const *) const override {
    ring.reduceScatter(adds);
  }
  void runOne(dnnl_stream_t s, void *const *o) const override { run(s, o); }
  const char *implementation() const override { return "ring"; }

private:
  ShardedRing ring;
  bool adds;
};

class AllGather : public LibraryCall {
public:
  AllGather(const Arguments &a, World &world)
      : ring(*world.messages(), a.arrays, a.dtype, a.room, a.roomBytes) {}
  void run(dnnl_stream_t, void *const *) const override { ring.allGather(); }
  void runOne(dnnl_stream_t s, void *const *o) const override { run(s, o); }
  const char *implementation() const override { return "ring"; }

private:
  ShardedRing ring;
};

} // namespace

std::unique_ptr<LibraryCall> makeShardCall(const std::string &function,
                                           const Table &table,
                                           const TtsEntry &entry,
                                           void *const *operands, World *world,
                                           const std::string &where) {
  uint32_t count = entry.num_operands / 2; // of pairs, or one less for room
  if (function == "rt.shard")
    return std::make_unique<Shard>(
        Reader(table, entry, operands, world, where)
            .read(count, 0, count, /*hasRoom=*/false),
        *world);
  if (function == "rt.all_gather")
    return std::make_unique<AllGather>(
        Reader(table, entry, operands, world, where)
            .read(count, count, 0, /*hasRoom=*/true),
        *world);
  if (function != "rt.reduce_scatter")
    return nullptr;
  bool adds =
      entry.num_scalars > 1 && table.scalars.first[entry.first_scalar + 1] != 0;
  if (!adds)
    count = entry.num_operands - 1;
  Arguments arguments =
      Reader(table, entry, operands, world, where)
          .read(count, 0, adds ? int64_t(count) : -1, /*hasRoom=*/true);
  if (arguments.dtype != TTS_F32 && arguments.dtype != TTS_F64)
    refuseEntry(where, std::string(dtypeName(arguments.dtype)) +
                           " is not summed over ranks");
  return std::make_unique<ReduceScatter>(arguments, adds, *world);
}

} // namespace tts::rt
