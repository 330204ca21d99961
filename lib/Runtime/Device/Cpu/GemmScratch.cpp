//===- GemmScratch.cpp - asks oneDNN for a matmul ------------------------===//
//
// Row-major matrices and their transposes are one memory descriptor with
// strides; beta = 1 is oneDNN's sum post-operation. Its batch-reduce products
// add the bias to the finished sum over k, then C's old value, and round each:
// the bits of adding them afterwards (GemmTest).
//
//===----------------------------------------------------------------------===//

#include "Runtime/Device/Cpu/GemmScratch.h"
#include "tts-runtime/Format.h"
#include <cstring>
#include <utility>

namespace tts::rt {

dnnl_data_type_t libraryType(TtsDType dtype) {
  return dtype == TTS_BF16 ? dnnl_bf16 : dtype == TTS_F16 ? dnnl_f16 : dnnl_f32;
}

namespace {

bool describeMatrix(dnnl_memory_desc_t &out, TtsDType dtype, bool batched,
                    int64_t batch, int64_t batchStride, int64_t rows,
                    int64_t columns, int64_t leading, bool transpose) {
  dnnl_dims_t dims, strides;
  int rank = 0;
  if (batched) {
    dims[rank] = batch;
    strides[rank++] = batchStride;
  }
  dims[rank] = rows;
  strides[rank++] = transpose ? 1 : leading;
  dims[rank] = columns;
  strides[rank++] = transpose ? leading : 1;
  return dnnl_memory_desc_init_by_strides(&out, rank, dims, libraryType(dtype),
                                          strides) == dnnl_success;
}

dnnl_primitive_attr_t makeAttributes(bool accumulate) {
  dnnl_primitive_attr_t attributes = nullptr;
  if (dnnl_primitive_attr_create(&attributes) != dnnl_success)
    return nullptr;
  dnnl_primitive_attr_set_scratchpad_mode(attributes,
                                          dnnl_scratchpad_mode_user);
  if (accumulate) {
    dnnl_post_ops_t operations = nullptr;
    dnnl_post_ops_create(&operations);
    dnnl_post_ops_append_sum(operations, 1.0f);
    dnnl_primitive_attr_set_post_ops(attributes, operations);
    dnnl_post_ops_destroy(operations);
  }
  return attributes;
}

GemmChoice inspect(dnnl_primitive_desc_t descriptor, bool batched) {
  GemmChoice choice;
  choice.descriptor = descriptor;
  choice.batched = batched;
  dnnl_primitive_desc_query(descriptor, dnnl_query_impl_info_str, 0,
                            &choice.implementation);
  const dnnl_memory_desc_t *scratch =
      dnnl_primitive_desc_query_md(descriptor, dnnl_query_scratchpad_md, 0);
  choice.scratchBytes = scratch ? dnnl_memory_desc_get_size(scratch) : 0;
  return choice;
}

bool isTame(const GemmChoice &choice) {
  return std::strncmp(choice.implementation, "gemm", 4) != 0 &&
         std::strncmp(choice.implementation, "ref", 3) != 0;
}

/// The first that allocates nothing in a call.
GemmChoice walk(const dnnl_matmul_desc_t &operation,
                dnnl_primitive_attr_t attributes, dnnl_engine_t engine,
                bool batched) {
  GemmChoice found;
  dnnl_primitive_desc_iterator_t iterator = nullptr;
  if (dnnl_primitive_desc_iterator_create(&iterator, &operation, attributes,
                                          engine, nullptr) != dnnl_success)
    return found;
  do {
    GemmChoice next =
        inspect(dnnl_primitive_desc_iterator_fetch(iterator), batched);
    if (isTame(next))
      found = next;
    else
      dnnl_primitive_desc_destroy(next.descriptor);
  } while (!found.descriptor &&
           dnnl_primitive_desc_iterator_next(iterator) == dnnl_success);
  dnnl_primitive_desc_iterator_destroy(iterator);
  return found;
}

GemmChoice ask(const GemmShape &s, dnnl_engine_t engine, bool batched) {
  dnnl_memory_desc_t a, b, c, bias;
  dnnl_matmul_desc_t operation;
  if (!describeMatrix(a, s.dtype, batched, s.batch, s.strideA, s.m, s.k, s.lda,
                      s.transposeA) ||
      !describeMatrix(b, s.dtype, batched, s.batch, s.strideB, s.k, s.n, s.ldb,
                      s.transposeB) ||
      !describeMatrix(c, s.dtypeC, batched, s.batch, s.strideC, s.m, s.n, s.ldc,
                      false) ||
      !describeMatrix(bias, TTS_F32, batched, 1, s.n, 1, s.n, s.n, false) ||
      dnnl_matmul_desc_init(&operation, &a, &b, s.bias ? &bias : nullptr, &c) !=
          dnnl_success)
    return {};
  dnnl_primitive_attr_t attributes = makeAttributes(s.accumulate);
  if (!attributes)
    return {};
  GemmChoice choice = walk(operation, attributes, engine, batched);
  dnnl_primitive_attr_destroy(attributes);
  return choice;
}

} // namespace

GemmShape GemmShape::fromScalars(const int64_t *scalars) {
  GemmShape s;
  s.m = scalars[TTS_GEMM_M];
  s.n = scalars[TTS_GEMM_N];
  s.k = scalars[TTS_GEMM_K];
  s.lda = scalars[TTS_GEMM_LDA];
  s.ldb = scalars[TTS_GEMM_LDB];
  s.ldc = scalars[TTS_GEMM_LDC];
  s.transposeA = scalars[TTS_GEMM_TRANSPOSE_A] != 0;
  s.transposeB = scalars[TTS_GEMM_TRANSPOSE_B] != 0;
  s.accumulate = scalars[TTS_GEMM_BETA] != 0;
  s.batch = scalars[TTS_GEMM_BATCH];
  s.strideA = scalars[TTS_GEMM_STRIDE_A];
  s.strideB = scalars[TTS_GEMM_STRIDE_B];
  s.strideC = scalars[TTS_GEMM_STRIDE_C];
  s.bias = scalars[TTS_GEMM_BIAS] != 0;
  s.dtype = TtsDType(scalars[TTS_GEMM_DTYPE]);
  s.dtypeC = TtsDType(scalars[TTS_GEMM_DTYPE_C]);
  return s;
}

StoredMatrix storedA(const GemmShape &s) {
  return s.transposeA ? StoredMatrix{s.k, s.m, s.lda, s.strideA}
                      : StoredMatrix{s.m, s.k, s.lda, s.strideA};
}

StoredMatrix storedB(const GemmShape &s) {
  return s.transposeB ? StoredMatrix{s.n, s.k, s.ldb, s.strideB}
                      : StoredMatrix{s.k, s.n, s.ldb, s.strideB};
}

StoredMatrix storedC(const GemmShape &s) {
  return {s.m, s.n, s.ldc, s.strideC};
}

namespace {

/// The shape on operands as they are.
GemmChoice chooseInPlace(const GemmShape &shape, dnnl_engine_t engine) {
  // A shared C must be summed in order, and a shared A or B would be a
  // broadcast: both run element by element.
  if (shape.batch > 1 && shape.strideA && shape.strideB && shape.strideC) {
    GemmChoice whole = ask(shape, engine, /*batched=*/true);
    if (whole.descriptor)
      return whole;
  }
  return ask(shape, engine, /*batched=*/false);
}

/// Closes the gaps of one operand; a shared one stays shared.
void closeGaps(StoredMatrix stored, int64_t &leading, int64_t &stride) {
  if (!stored.hasGaps())
    return;
  leading = stored.columns;
  stride = stride ? stored.rows * stored.columns : 0;
}

/// Room for the copy of an operand that `call` takes dense or in another type.
int64_t reserve(StoredMatrix stored, TtsDType dtype, TtsDType called,
                int64_t elements, uint64_t &bytes) {
  if (!stored.hasGaps() && dtype == called)
    return GemmChoice::unpacked;
  bytes = (bytes + TTS_ARENA_ALIGNMENT - 1) / TTS_ARENA_ALIGNMENT *
          TTS_ARENA_ALIGNMENT;
  int64_t at = int64_t(bytes);
  bytes += uint64_t(elements * stored.rows * stored.columns) *
           uint64_t(elementBytes(called));
  return at;
}

void drop(GemmChoice &choice) {
  if (choice.descriptor)
    dnnl_primitive_desc_destroy(choice.descriptor);
  choice = {};
}

/// The shape on copies without gaps, all of them F32 if `widened`.
GemmChoice choosePacked(const GemmShape &shape, dnnl_engine_t engine,
                        bool widened) {
  StoredMatrix a = storedA(shape), b = storedB(shape), c = storedC(shape);
  GemmShape dense = shape;
  closeGaps(a, dense.lda, dense.strideA);
  closeGaps(b, dense.ldb, dense.strideB);
  closeGaps(c, dense.ldc, dense.strideC);
  if (widened)
    dense.dtype = dense.dtypeC = TTS_F32;
  GemmChoice packed = chooseInPlace(dense, engine);
  if (!packed.descriptor)
    return packed;
  packed.call = dense;
  int64_t elements = packed.batched ? shape.batch : 1;
  uint64_t &bytes = packed.scratchBytes;
  packed.packA = reserve(a, shape.dtype, dense.dtype, elements, bytes);
  packed.packB = reserve(b, shape.dtype, dense.dtype, elements, bytes);
  packed.packC = reserve(c, shape.dtypeC, dense.dtypeC, elements, bytes);
  return packed;
}

} // namespace

bool isFasterThanF32(const char *implementation) {
  if (std::strstr(implementation, "amx"))
    return true;
  // Without AMX, Intel's newer cores take two dot products of pairs in the time
  // of four multiply-adds: half the rate of f32.
  __builtin_cpu_init();
  return !__builtin_cpu_is("intel") || __builtin_cpu_is("cooperlake");
}

GemmChoice chooseGemm(const GemmShape &shape, dnnl_engine_t engine) {
  bool isHalf = shape.dtype != TTS_F32;
  auto isGood = [&](const GemmChoice &choice) {
    return choice.descriptor &&
           (!isHalf || isFasterThanF32(choice.implementation));
  };
  GemmChoice best = chooseInPlace(shape, engine);
  best.call = shape;
  if (isGood(best))
    return best;
  auto consider = [&](GemmChoice next) {
    bool better = next.descriptor && (!best.descriptor || isHalf);
    if (better)
      std::swap(best, next);
    drop(next);
  };
  if (storedA(shape).hasGaps() || storedB(shape).hasGaps() ||
      storedC(shape).hasGaps())
    consider(choosePacked(shape, engine, /*widened=*/false));
  if (isHalf && !isGood(best))
    consider(choosePacked(shape, engine, /*widened=*/true));
  return best;
}

int64_t gemmScratchBytes(const GemmShape &shape, int threads) {
  return askWithThreads(threads, [&](dnnl_engine_t engine) {
    GemmChoice choice = chooseGemm(shape, engine);
    if (!choice.descriptor)
      return int64_t(-1);
    dnnl_primitive_desc_destroy(choice.descriptor);
    return int64_t(choice.scratchBytes);
  });
}

} // namespace tts::rt
