// The operands of "rt.gemm" cover the bytes that its shape, strides and batch
// touch.
#include "Table.h"

using namespace tts::check;

namespace {

/// Bytes from the first to the last element of a batch of row-major matrices;
/// 0 when a number is out of reason.
uint64_t footprint(int64_t rows, int64_t columns, int64_t leading,
                   int64_t batch, int64_t stride, uint64_t elementSize) {
  constexpr int64_t limit = int64_t(1) << 40;
  for (int64_t each : {rows, columns, leading, batch, stride})
    if (each < 0 || each > limit)
      return 0;
  if (rows < 1 || columns < 1 || batch < 1)
    return 0;
  const __int128 last =
      __int128(batch - 1) * stride + __int128(rows - 1) * leading + columns;
  const __int128 bytes = last * elementSize;
  return bytes > (__int128(1) << 62) ? 0 : uint64_t(bytes);
}

} // namespace

static void checkGemm(const Table &table, const TtsEntry &entry,
                      const std::string &label, Report &report) {
  if (entry.num_scalars != TTS_GEMM_NUM_SCALARS) {
    report.fail(label, "a gemm with " + std::to_string(entry.num_scalars) +
                           " scalars, not " +
                           std::to_string(TTS_GEMM_NUM_SCALARS));
    return;
  }
  const int64_t *s = &table.scalars[entry.first_scalar];
  const int64_t scratch = s[TTS_GEMM_SCRATCH];
  const uint32_t expected = scratch > 0 ? 4 : 3;
  if (entry.num_operands != expected) {
    report.fail(label, "a gemm with " + std::to_string(entry.num_operands) +
                           " operands, not " + std::to_string(expected));
    return;
  }
  const int64_t dtype = s[TTS_GEMM_DTYPE];
  const bool isFloat = dtype == TTS_F32 || dtype == TTS_F64 ||
                       dtype == TTS_BF16 || dtype == TTS_F16;
  const uint64_t size = isFloat ? elementSize(dtype) : 0;
  const int64_t m = s[TTS_GEMM_M], n = s[TTS_GEMM_N], k = s[TTS_GEMM_K];
  const bool ta = s[TTS_GEMM_TRANSPOSE_A] != 0,
             tb = s[TTS_GEMM_TRANSPOSE_B] != 0;
  const int64_t batch = s[TTS_GEMM_BATCH];
  const uint64_t needed[] = {
      footprint(ta ? k : m, ta ? m : k, s[TTS_GEMM_LDA], batch,
                s[TTS_GEMM_STRIDE_A], size),
      footprint(tb ? n : k, tb ? k : n, s[TTS_GEMM_LDB], batch,
                s[TTS_GEMM_STRIDE_B], size),
      footprint(m, n, s[TTS_GEMM_LDC], batch, s[TTS_GEMM_STRIDE_C], size),
      uint64_t(scratch)};
  const int64_t beta = s[TTS_GEMM_BETA];
  if (beta != 0 && beta != 1)
    report.fail(label, "a gemm whose beta is neither 0 nor 1");
  for (uint32_t i = 0; i < expected; ++i) {
    const TtsOperand &operand = table.operands[entry.first_operand + i];
    const std::string which = "operand " + std::to_string(i) + " of a gemm ";
    if (needed[i] == 0)
      report.fail(label, which + "has no sound shape");
    else if (operand.size < needed[i])
      report.fail(label, which + "has " + std::to_string(operand.size) +
                             " bytes but " + std::to_string(needed[i]) +
                             " are touched");
    if (operand.dtype != (i < 3 ? dtype : TTS_BYTES))
      report.fail(label, which + "does not hold what a gemm expects");
    if (size != 0 && operand.offset % size != 0)
      report.fail(label, which + "starts in the middle of an element");
    const bool reads = operand.access & TTS_READ,
               writes = operand.access & TTS_WRITE;
    const bool sound = i < 2    ? reads && !writes
                       : i == 2 ? writes && (reads || beta == 0)
                                : writes;
    if (!sound)
      report.fail(label, which + "is accessed the wrong way");
  }
}

void tts::check::checkGemms(const Table &table, Report &report) {
  for (uint32_t p = 0; p < table.programs.size(); ++p)
    for (uint32_t e = 0; e < table.programs[p].num_entries; ++e) {
      const TtsEntry &entry = table.entries[table.programs[p].first_entry + e];
      const TtsFunction &function = table.functions[entry.function];
      if (function.kind == TTS_FUNCTION_LIBRARY &&
          table.name(function.name) == "rt.gemm")
        checkGemm(table, entry, table.entryLabel(p, e), report);
    }
}
