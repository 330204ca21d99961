//===- AllReduce.h - rt.all_reduce: sums over ranks in the step table ----===//

#ifndef TTS_RUNTIME_DEVICE_CPU_ALLREDUCE_H
#define TTS_RUNTIME_DEVICE_CPU_ALLREDUCE_H

#include "Runtime/Abi/Table.h"
#include "Runtime/Collectives/Ring.h"
#include "Runtime/Collectives/World.h"
#include "Runtime/Device/Cpu/LibraryCall.h"

namespace tts::rt {

/// One entry: all operands but the last are arrays that become their sums, the
/// last is room for messages.
class AllReduce : public LibraryCall {
public:
  /// Throws Exit::Refused for a table that this runtime cannot serve.
  AllReduce(const Table &table, const TtsEntry &entry, void *const *operands,
            World *world, const std::string &where);

  void run(dnnl_stream_t, void *const *) const override { ring.allReduce(); }
  /// All ranks rehearse the same table, so they meet here as well: what MPI
  /// allocates for its first messages it allocates now.
  void runOne(dnnl_stream_t, void *const *) const override { ring.allReduce(); }
  const char *implementation() const override { return "ring"; }

private:
  Ring ring;
};

} // namespace tts::rt

#endif // TTS_RUNTIME_DEVICE_CPU_ALLREDUCE_H
