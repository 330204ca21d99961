//===- Shards.h - rt.shard, rt.reduce_scatter, rt.all_gather --------------===//

#ifndef TTS_RUNTIME_DEVICE_CPU_SHARDS_H
#define TTS_RUNTIME_DEVICE_CPU_SHARDS_H

#include "Runtime/Abi/Table.h"
#include "Runtime/Collectives/ShardedRing.h"
#include "Runtime/Collectives/World.h"
#include "Runtime/Device/Cpu/LibraryCall.h"
#include <memory>

namespace tts::rt {

/// Throws Exit::Refused for a table that this runtime cannot serve; null where
/// `function` is none of the three.
std::unique_ptr<LibraryCall> makeShardCall(const std::string &function,
                                           const Table &table,
                                           const TtsEntry &entry,
                                           void *const *operands, World *world,
                                           const std::string &where);

} // namespace tts::rt

#endif // TTS_RUNTIME_DEVICE_CPU_SHARDS_H
