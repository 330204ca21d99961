//===- HalfTypes.h - between bf16 or f16 and f32 --------------------------===//
//
// The rounding of generated kernels: to nearest even, denormals kept, a NaN
// stays one.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_RUNTIME_DEVICE_CPU_HALFTYPES_H
#define TTS_RUNTIME_DEVICE_CPU_HALFTYPES_H

#include "tts-runtime/Format.h"
#include <cstdint>

namespace tts::rt {

uint16_t toBf16(float value);
float fromBf16(uint16_t bits);
uint16_t toF16(float value);
float fromF16(uint16_t bits);

/// `count` numbers from one of F32, BF16, F16 to another; the two do not
/// overlap.
void convertFloats(TtsDType toType, void *to, TtsDType fromType,
                   const void *from, int64_t count);

} // namespace tts::rt

#endif // TTS_RUNTIME_DEVICE_CPU_HALFTYPES_H
