//===- AllReduce.cpp - rt.all_reduce as the runtime does it ---------------===//

#include "Runtime/Device/Cpu/AllReduce.h"

namespace tts::rt {

/// The ranks it sums over; without a scalar all.
static Among amongOf(const Table &table, const TtsEntry &entry,
                     const World *world, const std::string &where) {
  int64_t among = entry.num_scalars ? table.scalars[entry.first_scalar]
                                    : int64_t(TTS_AMONG_ALL);
  if (among < TTS_AMONG_ALL || among > TTS_AMONG_STAGES)
    refuseEntry(where, "it sums over ranks of an unknown kind");
  if (among == TTS_AMONG_STAGES && world && world->stages() == 1)
    refuseEntry(where, "it sums over stages, but there is one");
  return Among(among);
}

static Ring makeRing(const Table &table, const TtsEntry &entry,
                     void *const *operands, World *world,
                     const std::string &where) {
  if (!world || !world->messages())
    refuseEntry(where, "it sums over ranks, but there is one");
  if (entry.num_operands < 2)
    refuseEntry(where, "it has nothing to sum");
  const TtsOperand *o = table.operands.first + entry.first_operand;
  uint32_t last = entry.num_operands - 1;
  TtsDType dtype = TtsDType(o[0].dtype);
  if (dtype != TTS_F32 && dtype != TTS_F64)
    refuseEntry(where,
                std::string(dtypeName(dtype)) + " is not summed over ranks");
  std::vector<Pieces::Piece> pieces;
  for (uint32_t i = 0; i < last; ++i) {
    if (o[i].dtype != dtype)
      refuseEntry(where, "its operands are of several types");
    pieces.push_back({operands[i], o[i].size / dtypeSize(dtype)});
  }
  return Ring(*world->messages(amongOf(table, entry, world, where)),
              Pieces(std::move(pieces), dtype), operands[last], o[last].size);
}

AllReduce::AllReduce(const Table &table, const TtsEntry &entry,
                     void *const *operands, World *world,
                     const std::string &where)
    : world(world), among(amongOf(table, entry, world, where)),
      dtype(TtsDType(table.operands.first[entry.first_operand].dtype)),
      isNumber(entry.num_operands == 2 &&
               table.operands.first[entry.first_operand].size ==
                   dtypeSize(dtype)),
      ring(makeRing(table, entry, operands, world, where)) {}

void AllReduce::sumNumber(void *number) const {
  double sum = dtype == TTS_F64 ? *static_cast<double *>(number)
                                : double(*static_cast<float *>(number));
  world->sum(&sum, 1, among);
  if (dtype == TTS_F64)
    *static_cast<double *>(number) = sum;
  else
    *static_cast<float *>(number) = float(sum);
}

} // namespace tts::rt
