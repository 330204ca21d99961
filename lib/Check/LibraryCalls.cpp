// The operands of "rt.gemm" and "rt.conv1d" cover the bytes that their shapes
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

/// Of what a library computes with; 0 for other dtypes.
uint64_t floatSize(int64_t dtype) {
  const bool isFloat = dtype == TTS_F32 || dtype == TTS_F64 ||
                       dtype == TTS_BF16 || dtype == TTS_F16;
  return isFloat ? elementSize(dtype) : 0;
}

} // namespace

/// `access` is what the function does: more may be declared of what it writes.
static void checkOperand(const TtsOperand &operand, uint64_t needed,
                         int64_t dtype, uint32_t access,
                         const std::string &which, const std::string &label,
                         Report &report) {
  if (needed == 0)
    report.fail(label, which + "has no sound shape");
  else if (operand.size < needed)
    report.fail(label, which + "has " + std::to_string(operand.size) +
                           " bytes but " + std::to_string(needed) +
                           " are touched");
  if (operand.dtype != dtype)
    report.fail(label, which + "does not hold what is expected there");
  const uint64_t elementBytes = floatSize(dtype);
  if (elementBytes != 0 && operand.offset % elementBytes != 0)
    report.fail(label, which + "starts in the middle of an element");
  const bool declaresAll = (operand.access & access) == access;
  const bool writesUnasked =
      !(access & TTS_WRITE) && (operand.access & TTS_WRITE);
  if (!declaresAll || writesUnasked)
    report.fail(label, which + "is accessed the wrong way");
}

namespace {
/// What a library function does with its operands: two inputs, the result,
/// perhaps a bias, perhaps scratch.
struct Uses {
  std::vector<uint64_t> needed; ///< bytes of each operand
  int64_t dtype, resultDType, beta;
  bool bias;

  bool isScratch(size_t i) const { return i > 2 && !(bias && i == 3); }
  uint32_t access(size_t i) const {
    if (i == 2 && beta != 0)
      return TTS_READ_WRITE;
    return i == 2 || isScratch(i) ? TTS_WRITE : TTS_READ;
  }
  int64_t held(size_t i) const {
    return isScratch(i) ? int64_t(TTS_BYTES) : i == 2 ? resultDType : dtype;
  }
};
} // namespace

static void checkOperands(const Table &table, const TtsEntry &entry,
                          const Uses &uses, const std::string &function,
                          const std::string &label, Report &report) {
  if (uses.beta != 0 && uses.beta != 1)
    report.fail(label, "a " + function + " whose beta is neither 0 nor 1");
  for (size_t i = 0; i < uses.needed.size(); ++i)
    checkOperand(table.operands[entry.first_operand + i], uses.needed[i],
                 uses.held(i), uses.access(i),
                 "operand " + std::to_string(i) + " of a " + function + " ",
                 label, report);
}

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
  const bool bias = s[TTS_GEMM_BIAS] != 0;
  const uint32_t expected = 3 + bias + (scratch > 0);
  if (entry.num_operands != expected) {
    report.fail(label, "a gemm with " + std::to_string(entry.num_operands) +
                           " operands, not " + std::to_string(expected));
    return;
  }
  const int64_t dtype = s[TTS_GEMM_DTYPE], dtypeC = s[TTS_GEMM_DTYPE_C];
  const uint64_t size = floatSize(dtype);
  if (dtypeC != dtype && dtypeC != TTS_F32)
    report.fail(label, "a gemm whose result is of neither its operands' type "
                       "nor f32");
  const int64_t m = s[TTS_GEMM_M], n = s[TTS_GEMM_N], k = s[TTS_GEMM_K];
  const bool ta = s[TTS_GEMM_TRANSPOSE_A] != 0,
             tb = s[TTS_GEMM_TRANSPOSE_B] != 0;
  const int64_t batch = s[TTS_GEMM_BATCH];
  std::vector<uint64_t> needed = {
      footprint(ta ? k : m, ta ? m : k, s[TTS_GEMM_LDA], batch,
                s[TTS_GEMM_STRIDE_A], size),
      footprint(tb ? n : k, tb ? k : n, s[TTS_GEMM_LDB], batch,
                s[TTS_GEMM_STRIDE_B], size),
      footprint(m, n, s[TTS_GEMM_LDC], batch, s[TTS_GEMM_STRIDE_C],
                floatSize(dtypeC))};
  if (bias)
    needed.push_back(footprint(1, n, n, 1, 0, size));
  if (scratch > 0)
    needed.push_back(uint64_t(scratch));
  if (bias && batch != 1)
    report.fail(label, "a gemm of several products with a bias");
  checkOperands(table, entry, {needed, dtype, dtypeC, s[TTS_GEMM_BETA], bias},
                "gemm", label, report);
}

static void checkConv1d(const Table &table, const TtsEntry &entry,
                        const std::string &label, Report &report) {
  const int64_t *s = table.scalars.data() + entry.first_scalar;
  const bool sound = entry.num_scalars == TTS_CONV1D_NUM_SCALARS;
  const bool bias = sound && s[TTS_CONV1D_BIAS] != 0;
  const uint32_t expected = bias ? 5 : 4;
  if (!sound || entry.num_operands != expected) {
    report.fail(label,
                "a conv1d with " + std::to_string(entry.num_scalars) +
                    " scalars and " + std::to_string(entry.num_operands) +
                    " operands, not " + std::to_string(TTS_CONV1D_NUM_SCALARS) +
                    " and " + std::to_string(expected));
    return;
  }
  const int64_t dtype = s[TTS_CONV1D_DTYPE], dtypeY = s[TTS_CONV1D_DTYPE_Y];
  if (dtypeY != dtype && dtypeY != TTS_F32)
    report.fail(label, "a conv1d whose result is of neither its operands' type "
                       "nor f32");
  const uint64_t size = floatSize(dtype);
  const int64_t rows = s[TTS_CONV1D_TIME], batch = s[TTS_CONV1D_BATCH];
  const int64_t in = s[TTS_CONV1D_IN], out = s[TTS_CONV1D_OUT],
                taps = s[TTS_CONV1D_TAPS], left = s[TTS_CONV1D_LEFT];
  if (left < 0 || left >= taps)
    report.fail(label, "a conv1d whose taps do not reach its own row");
  // Dense, so a stack of `batch` matrices of `rows` rows.
  auto stack = [&](int64_t count, int64_t height, int64_t width,
                   uint64_t bytes) {
    if (height > 0 && width > INT64_MAX / height)
      return uint64_t(0);
    return footprint(height, width, width, count, height * width, bytes);
  };
  std::vector<uint64_t> needed = {stack(batch, rows, in, size),
                                  stack(taps, in, out, size),
                                  stack(batch, rows, out, floatSize(dtypeY))};
  if (bias)
    needed.push_back(footprint(1, out, out, 1, 0, size));
  needed.push_back(uint64_t(s[TTS_CONV1D_SCRATCH]));
  checkOperands(table, entry, {needed, dtype, dtypeY, s[TTS_CONV1D_BETA], bias},
                "conv1d", label, report);
}

/// Arrays of one float type that become their sums, and room for messages.
static void checkAllReduce(const Table &table, const TtsEntry &entry,
                           const std::string &label, Report &report) {
  if (entry.num_operands < 2 || entry.num_scalars > 1)
    return report.fail(label, "an all_reduce without arrays and room");
  const int64_t among =
      entry.num_scalars ? table.scalars[entry.first_scalar] : 0;
  if (among < TTS_AMONG_ALL || among > TTS_AMONG_STAGES)
    report.fail(label, "an all_reduce over ranks of an unknown kind");
  const TtsOperand *operands = &table.operands[entry.first_operand];
  const TtsOperand &room = operands[entry.num_operands - 1];
  const int64_t dtype = operands[0].dtype;
  if (dtype != TTS_F32 && dtype != TTS_F64)
    report.fail(label, "an all_reduce of something else than F32 or F64");
  for (uint32_t i = 0; i + 1 < entry.num_operands; ++i)
    checkOperand(operands[i], operands[i].size, dtype, TTS_READ_WRITE,
                 "operand " + std::to_string(i) + " of an all_reduce ", label,
                 report);
  // Two messages out and two in, of an element at least.
  checkOperand(room, std::max<uint64_t>(room.size, 4 * floatSize(dtype)),
               TTS_BYTES, TTS_WRITE, "the room of an all_reduce ", label,
               report);
}

namespace {
/// The calls on a rank's shards: pairs of an array and its shard, which may lie
/// at the array's front, and perhaps room for messages.
struct ShardCall {
  const char *name;
  uint32_t access;      ///< to the arrays
  uint32_t shardAccess; ///< 0: at the arrays' fronts
  bool arraysFirst, hasRoom;
};
} // namespace

static void checkShards(const Table &table, const TtsEntry &entry,
                        const ShardCall &call, uint64_t ranks,
                        const std::string &label, Report &report) {
  const std::string name = call.name;
  const uint32_t perPair = call.shardAccess ? 2 : 1;
  const uint32_t paired = entry.num_operands - (call.hasRoom ? 1 : 0);
  if (entry.num_operands < perPair + call.hasRoom || paired % perPair != 0)
    return report.fail(label, name + " without pairs of arrays and shards" +
                                  (call.hasRoom ? ", and room" : ""));
  if (ranks < 2 || table.scalars[entry.first_scalar] != int64_t(ranks))
    report.fail(label, name + " over another number of ranks than there are");
  const TtsOperand *operands = &table.operands[entry.first_operand];
  const uint32_t pairs = paired / perPair;
  const int64_t dtype = operands[0].dtype;
  const uint64_t size = floatSize(dtype);
  const bool sums = call.access == TTS_READ_WRITE;
  if (sums ? dtype != TTS_F32 && dtype != TTS_F64 : size == 0)
    return report.fail(label, name + " of something else than " +
                                  (sums ? "F32 or F64" : "floats"));
  for (uint32_t i = 0; i < pairs; ++i) {
    const uint32_t array = i + (call.arraysFirst ? 0 : pairs);
    const std::string which = " of " + name + " ";
    checkOperand(operands[array], operands[array].size, dtype, call.access,
                 "operand " + std::to_string(array) + which, label, report);
    if (!call.shardAccess)
      continue;
    const uint32_t shard = i + (call.arraysFirst ? pairs : 0);
    const uint64_t elements = operands[array].size / size;
    const uint64_t needed = ranks ? (elements + ranks - 1) / ranks * size : 0;
    checkOperand(operands[shard], needed, dtype, call.shardAccess,
                 "operand " + std::to_string(shard) + which, label, report);
    if (operands[shard].size != needed)
      report.fail(label, name + " of a shard that is longer than its array's");
  }
  if (!call.hasRoom)
    return;
  const TtsOperand &room = operands[entry.num_operands - 1];
  checkOperand(room, std::max<uint64_t>(room.size, 4 * size), TTS_BYTES,
               TTS_WRITE, "the room of " + name + " ", label, report);
}

/// Whether the function is one on shards.
static bool checkShardCall(const Table &table, const TtsEntry &entry,
                           const std::string &function, uint64_t ranks,
                           const std::string &label, Report &report) {
  const uint32_t scalars = function == "rt.reduce_scatter" ? 2 : 1;
  if (function != "rt.shard" && function != "rt.all_gather" &&
      function != "rt.reduce_scatter")
    return false;
  // A collective that others run beside says so in one more.
  const bool isAhead = function != "rt.shard" &&
                       entry.num_scalars == scalars + 1 &&
                       table.scalars[entry.first_scalar + scalars] == 1;
  if (entry.num_scalars != scalars && !isAhead) {
    report.fail(label, function + " with another number of scalars than " +
                           std::to_string(scalars) +
                           ", or a last one that is no 1");
    return true;
  }
  const bool adds = scalars == 2 && table.scalars[entry.first_scalar + 1] != 0;
  const ShardCall call =
      function == "rt.shard"
          ? ShardCall{"a shard", TTS_READ, TTS_WRITE, true, false}
      : function == "rt.all_gather"
          ? ShardCall{"an all_gather", TTS_WRITE, TTS_READ, false, true}
          : ShardCall{"a reduce_scatter", TTS_READ_WRITE,
                      adds ? uint32_t(TTS_READ_WRITE) : 0, true, true};
  checkShards(table, entry, call, ranks, label, report);
  return true;
}

/// Whether the function is a message between pipeline stages.
static bool checkMessage(const Table &table, const TtsEntry &entry,
                         const std::string &function, const std::string &label,
                         Report &report) {
  const bool sends = function == "rt.send";
  if (!sends && function != "rt.recv")
    return false;
  const uint32_t expected = sends ? 2 : 1;
  if (entry.num_operands != expected ||
      entry.num_scalars != TTS_MESSAGE_NUM_SCALARS) {
    report.fail(label, "a message with " + std::to_string(entry.num_operands) +
                           " operands and " +
                           std::to_string(entry.num_scalars) + " scalars");
    return true;
  }
  const int64_t *scalars = &table.scalars[entry.first_scalar];
  if (scalars[TTS_MESSAGE_STAGE] < 0 || scalars[TTS_MESSAGE_CHANNEL] < 0 ||
      scalars[TTS_MESSAGE_CHANNEL] >= TTS_MAX_CHANNELS)
    report.fail(label, "a message of no stage or channel");
  const TtsOperand &value = table.operands[entry.first_operand];
  checkOperand(value, value.size, value.dtype, sends ? TTS_READ : TTS_WRITE,
               "the value of a message ", label, report);
  if (!sends)
    return true;
  const TtsOperand &outbox = table.operands[entry.first_operand + 1];
  const TtsBuffer &buffer = table.buffers[outbox.buffer];
  checkOperand(outbox, value.size, TTS_BYTES, TTS_WRITE,
               "the outbox of a message ", label, report);
  if (!isPersistent(buffer) || buffer.klass != TTS_CLASS_COLLECTIVES)
    report.fail(label, "a message whose outbox is no persistent buffer of "
                       "class collectives");
  return true;
}

void tts::check::checkLibraryCalls(const Table &table, uint64_t ranks,
                                   Report &report) {
  for (uint32_t p = 0; p < table.programs.size(); ++p)
    for (uint32_t e = 0; e < table.programs[p].num_entries; ++e) {
      const TtsEntry &entry = table.entries[table.programs[p].first_entry + e];
      const TtsFunction &function = table.functions[entry.function];
      if (function.kind != TTS_FUNCTION_LIBRARY)
        continue;
      const std::string name = table.name(function.name);
      if (name == "rt.gemm")
        checkGemm(table, entry, table.entryLabel(p, e), report);
      else if (name == "rt.conv1d")
        checkConv1d(table, entry, table.entryLabel(p, e), report);
      else if (name == "rt.all_reduce")
        checkAllReduce(table, entry, table.entryLabel(p, e), report);
      else if (!checkMessage(table, entry, name, table.entryLabel(p, e),
                             report) &&
               !checkShardCall(table, entry, name, ranks,
                               table.entryLabel(p, e), report))
        report.fail(table.entryLabel(p, e),
                    "calls '" + name + "', which no runtime has");
    }
}
