//===- Gemm.cpp - creates, checks and runs matmuls -----------------------===//
//
// Scratch lies in the arena: a library that wants more here than where the
// plan was made is refused at start.
//
//===----------------------------------------------------------------------===//

#include "Runtime/Device/Cpu/Gemm.h"
#include "Runtime/Device/Cpu/HalfTypes.h"
#include "Runtime/Device/Cpu/PlainGemm.h"
#include "tts-runtime/Format.h"

namespace tts::rt {

namespace {

/// Bytes from the first to the last element that a batch of matrices touches.
uint64_t extentBytes(StoredMatrix m, int64_t batch, TtsDType dtype) {
  return uint64_t((batch - 1) * m.stride + (m.rows - 1) * m.leading +
                  m.columns) *
         uint64_t(elementBytes(dtype));
}

void checkOperands(const GemmShape &s, const std::vector<uint64_t> &bytes,
                   const std::string &where) {
  if (bytes.size() < (s.bias ? 4 : 3))
    refuseEntry(where, "rt.gemm has too few operands");
  if (s.m < 1 || s.n < 1 || s.k < 1 || s.batch < 1 || s.strideA < 0 ||
      s.strideB < 0 || s.strideC < 0)
    refuseEntry(where, "rt.gemm has an empty or negative extent");
  if (s.lda < (s.transposeA ? s.m : s.k) ||
      s.ldb < (s.transposeB ? s.k : s.n) || s.ldc < s.n)
    refuseEntry(where, "rt.gemm has a leading dimension shorter than its rows");
  uint64_t a = extentBytes(storedA(s), s.batch, s.dtype);
  uint64_t b = extentBytes(storedB(s), s.batch, s.dtype);
  uint64_t c = extentBytes(storedC(s), s.batch, s.dtypeC);
  if (s.bias && (s.batch > 1 || s.dtype != TTS_F32 || s.dtypeC != TTS_F32))
    refuseEntry(where, "rt.gemm adds a bias to a single product in f32 only");
  if (a > bytes[0] || b > bytes[1] || c > bytes[2] ||
      (s.bias && uint64_t(s.n) * 4 > bytes[3]))
    refuseEntry(where, "rt.gemm reaches outside its operands");
}

} // namespace

Gemm::Gemm(const GemmShape &shape, dnnl_engine_t engine) : shape(shape) {
  choice = chooseGemm(shape, engine);
  if (isPlain())
    return;
  checkLibrary(dnnl_primitive_create(&primitive, choice.descriptor),
               "dnnl_primitive_create");
  auto memory = [&](dnnl_memory_t &out, dnnl_query_t what) {
    checkLibrary(dnnl_memory_create(
                     &out,
                     dnnl_primitive_desc_query_md(choice.descriptor, what, 0),
                     engine, DNNL_MEMORY_NONE),
                 "dnnl_memory_create");
  };
  memory(a, dnnl_query_src_md);
  memory(b, dnnl_query_weights_md);
  memory(c, dnnl_query_dst_md);
  memory(scratch, dnnl_query_scratchpad_md);
  if (!shape.bias)
    return;
  // The matmul adds the bias, so how it stands in memory is the query's second
  // weights.
  checkLibrary(
      dnnl_memory_create(&bias,
                         dnnl_primitive_desc_query_md(choice.descriptor,
                                                      dnnl_query_weights_md, 1),
                         engine, DNNL_MEMORY_NONE),
      "dnnl_memory_create");
}

Gemm::~Gemm() {
  for (dnnl_memory_t memory : {a, b, c, scratch, bias})
    if (memory)
      dnnl_memory_destroy(memory);
  if (primitive)
    dnnl_primitive_destroy(primitive);
  if (choice.descriptor)
    dnnl_primitive_desc_destroy(choice.descriptor);
}

void Gemm::call(dnnl_stream_t stream, char *dataA, char *dataB, char *dataC,
                void *dataBias, void *dataScratch) const {
  dnnl_memory_set_data_handle(a, dataA);
  dnnl_memory_set_data_handle(b, dataB);
  dnnl_memory_set_data_handle(c, dataC);
  dnnl_memory_set_data_handle(scratch, dataScratch);
  dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, a},
                                 {DNNL_ARG_WEIGHTS, b},
                                 {DNNL_ARG_DST, c},
                                 {DNNL_ARG_SCRATCHPAD, scratch},
                                 {DNNL_ARG_BIAS, bias}};
  if (bias)
    dnnl_memory_set_data_handle(bias, dataBias);
  checkRun(dnnl_primitive_execute(primitive, stream, bias ? 5 : 4, arguments),
           choice.implementation);
}

/// Matrices in memory.
struct Matrices {
  char *data;
  StoredMatrix stored;
  TtsDType dtype;

  char *row(int64_t element, int64_t number) const {
    return data + (element * stored.stride + number * stored.leading) *
                      elementBytes(dtype);
  }
};

/// Copies the rows of `elements` matrices; one side may have gaps, and another
/// type than the other.
static void copyRows(Matrices to, Matrices from, int64_t elements) {
  int64_t rows = from.stored.rows, columns = from.stored.columns;
  constexpr int64_t worthThreads = 1 << 14;
#pragma omp parallel for collapse(2) if (elements * rows * columns >           \
                                         worthThreads)
  for (int64_t i = 0; i < elements; ++i)
    for (int64_t r = 0; r < rows; ++r)
      convertFloats(to.dtype, to.row(i, r), from.dtype, from.row(i, r),
                    columns);
}

void Gemm::runElement(dnnl_stream_t stream, void *const *operands,
                      int64_t element) const {
  if (isPlain())
    return multiplyPlainly(shape, operands, element);
  int64_t elements = choice.batched ? shape.batch : 1;
  char *room = choice.scratchBytes
                   ? static_cast<char *>(operands[shape.bias ? 4 : 3])
                   : nullptr;
  auto place = [&](int operand, int64_t stride, TtsDType dtype) {
    return static_cast<char *>(operands[operand]) +
           element * stride * elementBytes(dtype);
  };
  const GemmShape &called = choice.call;
  Matrices a{place(0, shape.strideA, shape.dtype), storedA(shape), shape.dtype};
  Matrices b{place(1, shape.strideB, shape.dtype), storedB(shape), shape.dtype};
  Matrices c{place(2, shape.strideC, shape.dtypeC), storedC(shape),
             shape.dtypeC};
  Matrices usedC = c;
  if (choice.packA >= 0) {
    Matrices dense{room + choice.packA, storedA(called), called.dtype};
    copyRows(dense, a, elements);
    a = dense;
  }
  if (choice.packB >= 0) {
    Matrices dense{room + choice.packB, storedB(called), called.dtype};
    copyRows(dense, b, elements);
    b = dense;
  }
  if (choice.packC >= 0) {
    usedC = {room + choice.packC, storedC(called), called.dtypeC};
    if (shape.accumulate)
      copyRows(usedC, c, elements);
  }
  call(stream, a.data, b.data, usedC.data, shape.bias ? operands[3] : nullptr,
       room);
  if (choice.packC >= 0)
    copyRows(c, usedC, elements);
}

void Gemm::run(dnnl_stream_t stream, void *const *operands) const {
  int64_t calls = choice.batched ? 1 : shape.batch;
  for (int64_t i = 0; i < calls; ++i)
    runElement(stream, operands, i);
}

void Gemm::runOne(dnnl_stream_t stream, void *const *operands) const {
  runElement(stream, operands, 0);
}

GemmLibrary::GemmLibrary() {
  checkLibrary(dnnl_engine_create(&theEngine, dnnl_cpu, 0),
               "dnnl_engine_create");
  checkLibrary(
      dnnl_stream_create(&theStream, theEngine, dnnl_stream_default_flags),
      "dnnl_stream_create");
}

GemmLibrary::~GemmLibrary() {
  gemms.clear();
  if (theStream)
    dnnl_stream_destroy(theStream);
  if (theEngine)
    dnnl_engine_destroy(theEngine);
}

const Gemm &GemmLibrary::get(const int64_t *scalars, uint32_t numScalars,
                             const std::vector<uint64_t> &operandBytes,
                             const std::string &where) {
  if (numScalars != TTS_GEMM_NUM_SCALARS)
    refuseEntry(where,
                "rt.gemm has " + std::to_string(numScalars) + " scalars");
  int64_t dtype = scalars[TTS_GEMM_DTYPE], dtypeC = scalars[TTS_GEMM_DTYPE_C];
  if ((dtype != TTS_F32 && dtype != TTS_BF16 && dtype != TTS_F16) ||
      (dtypeC != dtype && dtypeC != TTS_F32))
    refuseEntry(where, "rt.gemm of a dtype that oneDNN has no matmul for");
  GemmShape shape = GemmShape::fromScalars(scalars);
  checkOperands(shape, operandBytes, where);

  // The planned scratch differs from entry to entry, the primitive does not.
  std::vector<int64_t> key(scalars, scalars + TTS_GEMM_SCRATCH);
  const Gemm *&gemm = byScalars[key];
  if (!gemm)
    gemm = &gemms.emplace_back(shape, theEngine);
  const size_t last = shape.bias ? 4 : 3;
  uint64_t planned =
      operandBytes.size() > last
          ? std::min(operandBytes[last], uint64_t(scalars[TTS_GEMM_SCRATCH]))
          : 0;
  if (gemm->scratchBytes() > planned)
    refuseEntry(where, "oneDNN wants " + std::to_string(gemm->scratchBytes()) +
                           " bytes of scratch here, " +
                           std::to_string(planned) + " are planned");
  return *gemm;
}

} // namespace tts::rt
