//===- GemmScratch.h - which oneDNN matmul a shape gets, and its scratch --===//
//
// Stands alone, without the rest of the runtime and without exceptions, so
// that the compiler's Target/Cpu may build the same file and plan exactly the
// bytes the runtime will ask for.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_RUNTIME_DEVICE_CPU_GEMMSCRATCH_H
#define TTS_RUNTIME_DEVICE_CPU_GEMMSCRATCH_H

#include "tts-runtime/Format.h"
#include <cstdint>
#include <dnnl.h>
#include <omp.h>

namespace tts::rt {

/// The scalars of "rt.gemm" (TtsGemmScalar), by name.
struct GemmShape {
  int64_t m = 0, n = 0, k = 0;
  int64_t lda = 0, ldb = 0, ldc = 0;
  bool transposeA = false, transposeB = false;
  bool accumulate = false; ///< beta = 1
  int64_t batch = 1;
  int64_t strideA = 0, strideB = 0, strideC = 0;
  TtsDType dtype = TTS_F32;  ///< of A and B
  TtsDType dtypeC = TTS_F32; ///< the same or F32
  bool bias = false;         ///< F32 only

  /// From TTS_GEMM_NUM_SCALARS numbers in TtsGemmScalar's order.
  static GemmShape fromScalars(const int64_t *scalars);
};

/// How a shape is computed here. oneDNN 2.6 has a good implementation only for
/// matrices without gaps between their rows, and on some machines none for a
/// half type: others are packed into scratch, there as F32.
struct GemmChoice {
  dnnl_primitive_desc_t descriptor = nullptr; ///< the caller destroys it
  const char *implementation = nullptr;       ///< lives as the descriptor
  GemmShape call;       ///< what one call of the primitive computes
  bool batched = false; ///< one call does the whole batch, else one per element
  uint64_t scratchBytes = 0; ///< in all; the library's lie at its start
  /// Where in the scratch an operand's dense copy lies, or unpacked.
  static constexpr int64_t unpacked = -1;
  int64_t packA = unpacked, packB = unpacked, packC = unpacked;
};

/// A matrix as it is stored.
struct StoredMatrix {
  int64_t rows, columns, leading, stride;

  bool hasGaps() const { return leading != columns; }
};
StoredMatrix storedA(const GemmShape &shape);
StoredMatrix storedB(const GemmShape &shape);
StoredMatrix storedC(const GemmShape &shape);

/// oneDNN's name of F32, BF16 or F16.
dnnl_data_type_t libraryType(TtsDType dtype);

/// Bytes of an element of a float type.
constexpr int64_t elementBytes(TtsDType dtype) {
  return dtype == TTS_F64 ? 8 : dtype == TTS_F32 ? 4 : 2;
}

/// Whether a product of a half type beats one in f32 on widened operands.
bool isFasterThanF32(const char *implementation);

/// Takes the first implementation that keeps its scratch where we tell it: not
/// gemm:…, which allocates tens of megabytes in every call in spite of user
/// scratch, and not ref:…. The descriptor is null where there is none, as
/// without AVX-512. Threads are those of the calling thread's OpenMP settings.
GemmChoice chooseGemm(const GemmShape &shape, dnnl_engine_t engine);

/// `ask(engine)` with that many OpenMP threads; -1 where there is no engine.
template <typename Ask> int64_t askWithThreads(int threads, Ask ask) {
  int before = omp_get_max_threads();
  omp_set_num_threads(threads);
  int64_t answer = -1;
  dnnl_engine_t engine = nullptr;
  if (dnnl_engine_create(&engine, dnnl_cpu, 0) == dnnl_success) {
    answer = ask(engine);
    dnnl_engine_destroy(engine);
  }
  omp_set_num_threads(before);
  return answer;
}

/// Scratch for the last operand with that many threads; -1: oneDNN takes the
/// shape not at all, or only with memory of its own in every call.
int64_t gemmScratchBytes(const GemmShape &shape, int threads);

} // namespace tts::rt

#endif // TTS_RUNTIME_DEVICE_CPU_GEMMSCRATCH_H
