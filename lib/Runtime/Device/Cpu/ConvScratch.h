//===- ConvScratch.h - which oneDNN convolution a shape gets, its scratch -===//
//
// Stands alone, like GemmScratch.h: the compiler's Target/Cpu builds the same
// file and plans exactly the bytes the runtime will ask for.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_RUNTIME_DEVICE_CPU_CONVSCRATCH_H
#define TTS_RUNTIME_DEVICE_CPU_CONVSCRATCH_H

#include "tts-runtime/Format.h"
#include <cstdint>
#include <dnnl.h>

namespace tts::rt {

/// The scalars of "rt.conv1d" (TtsConv1dScalar), by name.
struct Conv1dShape {
  int64_t batch = 0, time = 0, in = 0, out = 0, taps = 0, left = 0;
  bool transpose = false;
  TtsDType dtype = TTS_F32;  ///< of X and W
  TtsDType dtypeY = TTS_F32; ///< the same or F32
  bool accumulate = false;   ///< beta = 1, F32 only
  bool bias = false;         ///< likewise

  /// From TTS_CONV1D_NUM_SCALARS numbers in TtsConv1dScalar's order.
  static Conv1dShape fromScalars(const int64_t *scalars);
};

/// How a shape is computed here. oneDNN wants the weights in blocks of its own:
/// they are put into scratch first, whole, or tap by tap where the taps are
/// reversed. Half types are widened there to F32 where that is faster; Y must
/// be F32 then.
struct Conv1dChoice {
  dnnl_primitive_desc_t convolution = nullptr; ///< the caller destroys both
  dnnl_primitive_desc_t reorder = nullptr;     ///< of one piece of the weights
  const char *implementation = nullptr;
  int64_t pieces = 1;
  int64_t pieceBytes = 0; ///< from one piece to the next in the blocked weights
  /// Where in the scratch the primitives' own lies; the reorder has ended when
  /// the convolution begins. The blocked weights lie at the start.
  uint64_t primitiveScratch = 0;
  /// Where X lies widened to F32, or negative: read as it is.
  int64_t widenedX = -1;
  uint64_t scratchBytes = 0;

  void destroy();
};

/// The descriptors are null when oneDNN has no batch-reduce convolution for the
/// shape: its others allocate in a call or are slower than products. Threads
/// are those of the calling thread's OpenMP settings.
Conv1dChoice chooseConv1d(const Conv1dShape &shape, dnnl_engine_t engine);

/// Scratch for the last operand with that many threads, or -1: no such
/// convolution here.
int64_t conv1dScratchBytes(const Conv1dShape &shape, int threads);

} // namespace tts::rt

#endif // TTS_RUNTIME_DEVICE_CPU_CONVSCRATCH_H
