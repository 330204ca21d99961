//===- NonFinite.cpp - looks at what each entry has written --------------===//
//
// A kernel's operand and a convolution's is a whole tensor; the C of a matmul
// is only the rows that its shape addresses, what lies between them is
// another's.
//
//===----------------------------------------------------------------------===//

#include "Runtime/Train/NonFinite.h"
#include "Runtime/Abi/DType.h"
#include "Runtime/Abi/Error.h"
#include "Runtime/Device/Cpu/GemmScratch.h"
#include <algorithm>
#include <cmath>
#include <cstring>

namespace tts::rt {

namespace {

constexpr int64_t none = -1;

/// The first of `count` elements whose exponent has all bits set.
template <typename Word>
int64_t firstWith(const char *data, int64_t count, Word exponent) {
  const Word *words = reinterpret_cast<const Word *>(data);
  constexpr int64_t block = 1024; // the common case: a block without any
  for (int64_t lo = 0; lo < count; lo += block) {
    int64_t hi = std::min(lo + block, count);
    int found = 0;
    for (int64_t i = lo; i < hi; ++i)
      found |= (words[i] & exponent) == exponent;
    for (int64_t i = lo; found && i < hi; ++i)
      if ((words[i] & exponent) == exponent)
        return i;
  }
  return none;
}

int64_t firstNonFinite(TtsDType dtype, const char *data, int64_t count) {
  switch (dtype) {
  case TTS_F32:
    return firstWith<uint32_t>(data, count, 0x7f800000u);
  case TTS_F64:
    return firstWith<uint64_t>(data, count, 0x7ff0000000000000u);
  case TTS_BF16:
    return firstWith<uint16_t>(data, count, 0x7f80u);
  case TTS_F16:
    return firstWith<uint16_t>(data, count, 0x7c00u);
  default:
    return none;
  }
}

/// An element that is not finite, as NaN or a signed infinity.
double valueOf(TtsDType dtype, const char *element) {
  uint64_t bits = 0;
  std::memcpy(&bits, element, dtypeSize(dtype));
  int mantissa = dtype == TTS_F32    ? 23
                 : dtype == TTS_F64  ? 52
                 : dtype == TTS_BF16 ? 7
                                     : 10;
  if (bits & ((uint64_t(1) << mantissa) - 1))
    return NAN;
  bool negative = bits >> (dtypeSize(dtype) * 8 - 1) & 1;
  return negative ? -INFINITY : INFINITY;
}

class Search : public EntryObserver {
public:
  explicit Search(Model &model) : model(model), table(model.table) {}

  bool after(uint32_t program, uint32_t number) override {
    const TtsEntry &entry = table.entries[number];
    bool wroteNorm = false;
    for (uint32_t o = 0; o < entry.num_operands; ++o) {
      const TtsOperand &operand = table.operands[entry.first_operand + o];
      if (!(operand.access & TTS_WRITE))
        continue;
      wroteNorm |=
          model.gradNorm && operand.offset == model.gradNorm->at.offset;
      int64_t at = look(entry, o);
      if (at != none) {
        report(entry, o, at);
        return false;
      }
    }
    // Behind the norm, update may write weights: this run must not.
    return !(wroteNorm && table.programs[program].kind == TTS_PROGRAM_UPDATE);
  }

  NonFinite found;

private:
  /// The offset in bytes of the first bad element of an operand, or none.
  int64_t look(const TtsEntry &entry, uint32_t index) const {
    const TtsOperand &operand = table.operands[entry.first_operand + index];
    if (operand.dtype == TTS_BYTES)
      return none;
    auto dtype = TtsDType(operand.dtype);
    int64_t size = int64_t(dtypeSize(dtype));
    const char *data = model.arena.at(operand.offset);
    const char *function = table.name(table.functions[entry.function].name);
    bool isMatrix = index < 3 && std::strcmp(function, "rt.gemm") == 0;
    if (!isMatrix) {
      int64_t at = firstNonFinite(dtype, data, int64_t(operand.size) / size);
      return at == none ? none : at * size;
    }
    GemmShape shape =
        GemmShape::fromScalars(table.scalars.first + entry.first_scalar);
    StoredMatrix m = index == 0   ? storedA(shape)
                     : index == 1 ? storedB(shape)
                                  : storedC(shape);
    for (int64_t b = 0; b < shape.batch; ++b)
      for (int64_t row = 0; row < m.rows; ++row) {
        int64_t first = b * m.stride + row * m.leading;
        int64_t at = firstNonFinite(dtype, data + first * size, m.columns);
        if (at != none)
          return (first + at) * size;
      }
    return none;
  }

  /// Read by the entry, and still there: no other operand overwrote it.
  bool isUntouched(const TtsEntry &entry, const TtsOperand &operand) const {
    if (operand.access != TTS_READ)
      return false;
    for (uint32_t o = 0; o < entry.num_operands; ++o) {
      const TtsOperand &other = table.operands[entry.first_operand + o];
      if (other.access & TTS_WRITE &&
          other.offset < operand.offset + operand.size &&
          operand.offset < other.offset + other.size)
        return false;
    }
    return true;
  }

  /// Blames what the entry read, if that was bad already: nothing in this step
  /// has written it, or the search would have ended there.
  void report(const TtsEntry &entry, uint32_t index, int64_t at) {
    for (uint32_t o = 0; o < entry.num_operands; ++o) {
      const TtsOperand &operand = table.operands[entry.first_operand + o];
      int64_t source = isUntouched(entry, operand) ? look(entry, o) : none;
      if (source == none)
        continue;
      found.wasRead = true;
      index = o;
      at = source;
      break;
    }
    const TtsOperand &operand = table.operands[entry.first_operand + index];
    const TtsBuffer &buffer = table.buffers[operand.buffer];
    auto dtype = TtsDType(operand.dtype);
    // A buffer may hold several values in turn: what was written is the op's.
    bool isPersistent = buffer.program == TTS_NO_BUCKET;
    found.tensor = table.name(isPersistent ? buffer.name : entry.name);
    found.function = table.name(table.functions[entry.function].name);
    found.entry = table.name(entry.name);
    found.location = table.name(entry.loc);
    found.element =
        (operand.offset - buffer.offset + uint64_t(at)) / dtypeSize(dtype);
    found.elements = buffer.size / dtypeSize(dtype);
    found.value = valueOf(dtype, model.arena.at(operand.offset) + at);
  }

  Model &model;
  const Table &table;
};

} // namespace

std::string NonFinite::text() const {
  std::string text = "first non-finite tensor: '" + std::string(tensor) + "' " +
                     (wasRead ? "read by " : "written by ") + function;
  if (std::strcmp(tensor, entry) != 0 && std::strcmp(function, entry) != 0)
    text += " '" + std::string(entry) + "'";
  if (*location)
    text += " (" + std::string(location) + ")";
  return text + ", element " + std::to_string(element) + " of " +
         std::to_string(elements) + " is " +
         (std::isnan(value) ? "nan"
          : value > 0       ? "inf"
                            : "-inf");
}

NonFinite findNonFinite(Model &model, const MicroBatches &batches,
                        const UpdateScalars &scalars) {
  UpdateResult unused(model);
  EntryObserver *before = model.executor.observed();
  Search search(model);
  model.executor.observe(&search);
  MicroBatches quiet{batches.buckets, batches.count, batches.load, nullptr,
                     batches.groupEnds};
  try {
    runUpdate(model, quiet, scalars, unused);
  } catch (const Error &) { // the search ended a program
  }
  model.executor.observe(before);
  return search.found;
}

} // namespace tts::rt
