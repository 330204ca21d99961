//===- DType.h - element types by name and size --------------------------===//
//
// The names are safetensors' own, so that one table serves manifest, shards
// and checkpoints.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_RUNTIME_ABI_DTYPE_H
#define TTS_RUNTIME_ABI_DTYPE_H

#include "tts-runtime/Format.h"
#include <optional>
#include <string_view>

namespace tts::rt {

struct DTypeInfo {
  TtsDType dtype;
  const char *name;
  uint32_t size;
};

inline constexpr DTypeInfo dtypes[] = {
    {TTS_F32, "F32", 4}, {TTS_F64, "F64", 8},   {TTS_I32, "I32", 4},
    {TTS_I64, "I64", 8}, {TTS_BF16, "BF16", 2}, {TTS_F16, "F16", 2},
};

inline uint64_t dtypeSize(TtsDType dtype) { return dtypes[dtype].size; }
inline const char *dtypeName(TtsDType dtype) { return dtypes[dtype].name; }

inline std::optional<TtsDType> dtypeFromName(std::string_view name) {
  for (const DTypeInfo &info : dtypes)
    if (name == info.name)
      return info.dtype;
  return std::nullopt;
}

} // namespace tts::rt

#endif // TTS_RUNTIME_ABI_DTYPE_H
