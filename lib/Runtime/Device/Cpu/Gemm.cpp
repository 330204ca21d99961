//===- Gemm.cpp - creates, checks and runs matmuls -----------------------===//
//
// Scratch lies in the arena: a library that wants more here than where the
// plan was made is refused at start.
//
//===----------------------------------------------------------------------===//

#include "Runtime/Device/Cpu/Gemm.h"
#include "tts-runtime/Format.h"
#include <cstring>

namespace tts::rt {

namespace {

/// Bytes from the first to the last element that a batch of matrices touches.
uint64_t extentBytes(StoredMatrix m, int64_t batch) {
  return uint64_t((batch - 1) * m.stride + (m.rows - 1) * m.leading +
                  m.columns) *
         4;
}

void checkOperands(const GemmShape &s, const std::vector<uint64_t> &bytes,
                   const std::string &where) {
  if (bytes.size() < 3)
    refuseEntry(where, "rt.gemm has fewer than three operands");
  if (s.m < 1 || s.n < 1 || s.k < 1 || s.batch < 1 || s.strideA < 0 ||
      s.strideB < 0 || s.strideC < 0)
    refuseEntry(where, "rt.gemm has an empty or negative extent");
  if (s.lda < (s.transposeA ? s.m : s.k) ||
      s.ldb < (s.transposeB ? s.k : s.n) || s.ldc < s.n)
    refuseEntry(where, "rt.gemm has a leading dimension shorter than its rows");
  uint64_t a = extentBytes(storedA(s), s.batch);
  uint64_t b = extentBytes(storedB(s), s.batch);
  uint64_t c = extentBytes(storedC(s), s.batch);
  if (a > bytes[0] || b > bytes[1] || c > bytes[2])
    refuseEntry(where, "rt.gemm reaches outside its operands");
}

} // namespace

Gemm::Gemm(const GemmShape &shape, dnnl_engine_t engine) : shape(shape) {
  choice = chooseGemm(shape, engine);
  if (!choice.descriptor)
    throw Error(Exit::Refused, "oneDNN",
                "it has no matmul for " + std::to_string(shape.m) + "x" +
                    std::to_string(shape.n) + "x" + std::to_string(shape.k),
                "recompile on this machine");
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
}

Gemm::~Gemm() {
  for (dnnl_memory_t memory : {a, b, c, scratch})
    if (memory)
      dnnl_memory_destroy(memory);
  if (primitive)
    dnnl_primitive_destroy(primitive);
  if (choice.descriptor)
    dnnl_primitive_desc_destroy(choice.descriptor);
}

void Gemm::call(dnnl_stream_t stream, char *dataA, char *dataB, char *dataC,
                void *dataScratch) const {
  dnnl_memory_set_data_handle(a, dataA);
  dnnl_memory_set_data_handle(b, dataB);
  dnnl_memory_set_data_handle(c, dataC);
  dnnl_memory_set_data_handle(scratch, dataScratch);
  dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, a},
                                 {DNNL_ARG_WEIGHTS, b},
                                 {DNNL_ARG_DST, c},
                                 {DNNL_ARG_SCRATCHPAD, scratch}};
  checkRun(dnnl_primitive_execute(primitive, stream, 4, arguments),
           choice.implementation);
}

/// Copies the rows of `elements` matrices; at most one side has gaps.
static void copyRows(char *to, StoredMatrix toShape, const char *from,
                     StoredMatrix fromShape, int64_t elements) {
  int64_t rows = fromShape.rows, bytes = fromShape.columns * 4;
  constexpr int64_t worthThreads = 1 << 16;
#pragma omp parallel for collapse(2) if (elements * rows * bytes > worthThreads)
  for (int64_t i = 0; i < elements; ++i)
    for (int64_t r = 0; r < rows; ++r)
      std::memcpy(to + (i * toShape.stride + r * toShape.leading) * 4,
                  from + (i * fromShape.stride + r * fromShape.leading) * 4,
                  size_t(bytes));
}

void Gemm::runElement(dnnl_stream_t stream, void *const *operands,
                      int64_t element) const {
  int64_t elements = choice.batched ? shape.batch : 1;
  char *room = choice.scratchBytes ? static_cast<char *>(operands[3]) : nullptr;
  auto place = [&](int operand, int64_t stride) {
    return static_cast<char *>(operands[operand]) + element * stride * 4;
  };
  char *inA = place(0, shape.strideA), *inB = place(1, shape.strideB);
  char *outC = place(2, shape.strideC), *denseC = outC;
  if (choice.packA >= 0) {
    char *dense = room + choice.packA;
    copyRows(dense, storedA(choice.call), inA, storedA(shape), elements);
    inA = dense;
  }
  if (choice.packB >= 0) {
    char *dense = room + choice.packB;
    copyRows(dense, storedB(choice.call), inB, storedB(shape), elements);
    inB = dense;
  }
  if (choice.packC >= 0) {
    denseC = room + choice.packC;
    if (shape.accumulate)
      copyRows(denseC, storedC(choice.call), outC, storedC(shape), elements);
  }
  call(stream, inA, inB, denseC, room);
  if (choice.packC >= 0)
    copyRows(outC, storedC(shape), denseC, storedC(choice.call), elements);
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
  if (scalars[TTS_GEMM_DTYPE] != TTS_F32)
    refuseEntry(where, "rt.gemm of a dtype that oneDNN has no matmul for");
  GemmShape shape = GemmShape::fromScalars(scalars);
  checkOperands(shape, operandBytes, where);

  // The planned scratch differs from entry to entry, the primitive does not.
  std::vector<int64_t> key(scalars, scalars + TTS_GEMM_SCRATCH);
  const Gemm *&gemm = byScalars[key];
  if (!gemm)
    gemm = &gemms.emplace_back(shape, theEngine);
  uint64_t planned =
      operandBytes.size() > 3
          ? std::min(operandBytes[3], uint64_t(scalars[TTS_GEMM_SCRATCH]))
          : 0;
  if (gemm->scratchBytes() > planned)
    refuseEntry(where, "oneDNN wants " + std::to_string(gemm->scratchBytes()) +
                           " bytes of scratch here, " +
                           std::to_string(planned) + " are planned");
  return *gemm;
}

} // namespace tts::rt
