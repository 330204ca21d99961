//===- PlainGemm.h - a product that the library has no good way to do ----===//

#ifndef TTS_RUNTIME_DEVICE_CPU_PLAINGEMM_H
#define TTS_RUNTIME_DEVICE_CPU_PLAINGEMM_H

#include "Runtime/Device/Cpu/GemmScratch.h"

namespace tts::rt {

/// One product of a batch, by loops that allocate nothing: sums in F32 in the
/// order of k, to which the bias is added, then C's old value; rounded once to
/// C's type. For tables made where the library had more to offer: what is
/// compiled on this machine has kernels instead.
/// `operands` are A, B, C and the bias if the shape has one.
void multiplyPlainly(const GemmShape &shape, void *const *operands,
                     int64_t element);

} // namespace tts::rt

#endif // TTS_RUNTIME_DEVICE_CPU_PLAINGEMM_H
