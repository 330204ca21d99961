//===- Gemm.cpp - creates, checks and runs matmuls -----------------------===//
//
// Scratch lies in the arena: a library that wants more here than where the
// plan was made is refused at start.
//
//===----------------------------------------------------------------------===//

#include "Runtime/Device/Cpu/Gemm.h"
#include "Runtime/Abi/Error.h"
#include "tts-runtime/Format.h"

namespace tts::rt {

namespace {

void check(dnnl_status_t status, const char *call) {
  if (status != dnnl_success)
    throw Error(Exit::Refused, "oneDNN",
                std::string(call) + " failed with status " +
                    std::to_string(int(status)),
                "recompile on this machine");
}

/// Bytes from the first to the last element that a batch of matrices touches.
uint64_t extentBytes(int64_t rows, int64_t columns, int64_t leading,
                     int64_t batch, int64_t stride) {
  return uint64_t((batch - 1) * stride + (rows - 1) * leading + columns) * 4;
}

[[noreturn]] void refuse(const std::string &where, const std::string &wrong) {
  throw Error(Exit::Refused, where, wrong,
              "recompile the model on this machine");
}

void checkOperands(const GemmShape &s, const std::vector<uint64_t> &bytes,
                   const std::string &where) {
  if (bytes.size() < 3)
    refuse(where, "rt.gemm has fewer than three operands");
  if (s.m < 1 || s.n < 1 || s.k < 1 || s.batch < 1 || s.strideA < 0 ||
      s.strideB < 0 || s.strideC < 0)
    refuse(where, "rt.gemm has an empty or negative extent");
  if (s.lda < (s.transposeA ? s.m : s.k) ||
      s.ldb < (s.transposeB ? s.k : s.n) || s.ldc < s.n)
    refuse(where, "rt.gemm has a leading dimension shorter than its rows");
  uint64_t a = s.transposeA ? extentBytes(s.k, s.m, s.lda, s.batch, s.strideA)
                            : extentBytes(s.m, s.k, s.lda, s.batch, s.strideA);
  uint64_t b = s.transposeB ? extentBytes(s.n, s.k, s.ldb, s.batch, s.strideB)
                            : extentBytes(s.k, s.n, s.ldb, s.batch, s.strideB);
  uint64_t c = extentBytes(s.m, s.n, s.ldc, s.batch, s.strideC);
  if (a > bytes[0] || b > bytes[1] || c > bytes[2])
    refuse(where, "rt.gemm reaches outside its operands");
}

} // namespace

Gemm::Gemm(const GemmShape &shape, dnnl_engine_t engine) : shape(shape) {
  choice = chooseGemm(shape, engine);
  if (!choice.descriptor)
    throw Error(Exit::Refused, "oneDNN",
                "it has no matmul for " + std::to_string(shape.m) + "x" +
                    std::to_string(shape.n) + "x" + std::to_string(shape.k),
                "recompile on this machine");
  check(dnnl_primitive_create(&primitive, choice.descriptor),
        "dnnl_primitive_create");
  auto memory = [&](dnnl_memory_t &out, dnnl_query_t what) {
    check(dnnl_memory_create(
              &out, dnnl_primitive_desc_query_md(choice.descriptor, what, 0),
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
  dnnl_status_t status =
      dnnl_primitive_execute(primitive, stream, 4, arguments);
  if (status != dnnl_success)
    throw Error(Exit::CannotContinue, "oneDNN",
                std::string("a matmul (") + choice.implementation +
                    ") failed with status " + std::to_string(int(status)),
                "resume from the last checkpoint");
}

void Gemm::run(dnnl_stream_t stream, void *const *operands) const {
  int64_t calls = choice.batched ? 1 : shape.batch;
  void *dataScratch = choice.scratchBytes ? operands[3] : nullptr;
  for (int64_t i = 0; i < calls; ++i)
    call(stream, static_cast<char *>(operands[0]) + i * shape.strideA * 4,
         static_cast<char *>(operands[1]) + i * shape.strideB * 4,
         static_cast<char *>(operands[2]) + i * shape.strideC * 4, dataScratch);
}

void Gemm::runOne(dnnl_stream_t stream, void *const *operands) const {
  call(stream, static_cast<char *>(operands[0]),
       static_cast<char *>(operands[1]), static_cast<char *>(operands[2]),
       choice.scratchBytes ? operands[3] : nullptr);
}

GemmLibrary::GemmLibrary() {
  check(dnnl_engine_create(&engine, dnnl_cpu, 0), "dnnl_engine_create");
  check(dnnl_stream_create(&theStream, engine, dnnl_stream_default_flags),
        "dnnl_stream_create");
}

GemmLibrary::~GemmLibrary() {
  gemms.clear();
  if (theStream)
    dnnl_stream_destroy(theStream);
  if (engine)
    dnnl_engine_destroy(engine);
}

const Gemm &GemmLibrary::get(const int64_t *scalars, uint32_t numScalars,
                             const std::vector<uint64_t> &operandBytes,
                             const std::string &where) {
  if (numScalars != TTS_GEMM_NUM_SCALARS)
    refuse(where, "rt.gemm has " + std::to_string(numScalars) + " scalars");
  if (scalars[TTS_GEMM_DTYPE] != TTS_F32)
    refuse(where, "rt.gemm of a dtype that oneDNN has no matmul for");
  GemmShape shape = GemmShape::fromScalars(scalars);
  checkOperands(shape, operandBytes, where);

  // The planned scratch differs from entry to entry, the primitive does not.
  std::vector<int64_t> key(scalars, scalars + TTS_GEMM_SCRATCH);
  const Gemm *&gemm = byScalars[key];
  if (!gemm)
    gemm = &gemms.emplace_back(shape, engine);
  uint64_t planned =
      operandBytes.size() > 3
          ? std::min(operandBytes[3], uint64_t(scalars[TTS_GEMM_SCRATCH]))
          : 0;
  if (gemm->scratchBytes() > planned)
    refuse(where, "oneDNN wants " + std::to_string(gemm->scratchBytes()) +
                      " bytes of scratch here, " + std::to_string(planned) +
                      " are planned");
  return *gemm;
}

} // namespace tts::rt
