//===- AllReduce.h - rt.all_reduce: sums over ranks in the step table ----===//

#ifndef TTS_RUNTIME_DEVICE_CPU_ALLREDUCE_H
#define TTS_RUNTIME_DEVICE_CPU_ALLREDUCE_H

#include "Runtime/Abi/Table.h"
#include "Runtime/Collectives/Ring.h"
#include "Runtime/Collectives/World.h"
#include "Runtime/Device/Cpu/EarlySums.h"
#include "Runtime/Device/Cpu/LibraryCall.h"

namespace tts::rt {

/// One entry: all operands but the last are arrays that become their sums, the
/// last is room for messages. A single number goes to each rank directly: it is
/// no part of the bulk that a ring moves.
class AllReduce : public LibraryCall {
public:
  /// Throws Exit::Refused for a table that this runtime cannot serve.
  AllReduce(const Table &table, const TtsEntry &entry, void *const *operands,
            World *world, const std::string &where);

  void run(dnnl_stream_t, void *const *operands) const override {
    isNumber ? sumNumber(operands[0])
    : early  ? early->finish()
             : ring.allReduce();
  }
  /// Its sums are made, or begun, by another.
  void hasEarly(EarlySums *sums) { early = sums; }
  Transport &transport() const { return *world->messages(among); }
  /// All ranks rehearse the same collectives, so they meet here as well: what
  /// MPI allocates for its first messages it allocates now.
  void runOne(dnnl_stream_t stream, void *const *operands) const override {
    run(stream, operands);
  }
  const char *implementation() const override { return "ring"; }

private:
  void sumNumber(void *number) const;

  World *world;
  Among among;
  TtsDType dtype;
  bool isNumber;
  Ring ring;
  EarlySums *early = nullptr;
};

} // namespace tts::rt

#endif // TTS_RUNTIME_DEVICE_CPU_ALLREDUCE_H
