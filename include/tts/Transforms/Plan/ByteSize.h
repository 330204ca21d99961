//===- ByteSize.h - sizes as people write them --------------*- C++ -*-===//

#ifndef TTS_TRANSFORMS_PLAN_BYTESIZE_H
#define TTS_TRANSFORMS_PLAN_BYTESIZE_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>

namespace tts::plan {

/// "80G" and "80GiB" are 80·2^30, "80GB" is 80·10^9, "512B" and "512" are
/// bytes; a decimal point is allowed ("1.5G"), the result is rounded down.
/// Nothing for what is not a size, is not positive or does not fit 63 bits.
std::optional<int64_t> parseByteSize(llvm::StringRef text);

/// "3221225472 bytes (3.000 GiB)".
std::string formatByteSize(int64_t bytes);

} // namespace tts::plan

#endif // TTS_TRANSFORMS_PLAN_BYTESIZE_H
