//===- Conv1d.cpp - creates, checks and runs convolutions ----------------===//

#include "Runtime/Device/Cpu/Conv1d.h"
#include "Runtime/Device/Cpu/GemmScratch.h"
#include "Runtime/Device/Cpu/HalfTypes.h"
#include "tts-runtime/Format.h"

namespace tts::rt {

Conv1d::Conv1d(const Conv1dShape &shape, dnnl_engine_t engine) : shape(shape) {
  choice = chooseConv1d(shape, engine);
  if (!choice.convolution)
    throw Error(Exit::Refused, "oneDNN",
                "it has no batch-reduce convolution of " +
                    std::to_string(shape.in) + " to " +
                    std::to_string(shape.out) + " channels here",
                "recompile on this machine");
  checkLibrary(dnnl_primitive_create(&convolution, choice.convolution),
               "dnnl_primitive_create");
  checkLibrary(dnnl_primitive_create(&reorder, choice.reorder),
               "dnnl_primitive_create");
  auto memory = [&](dnnl_memory_t &out, dnnl_primitive_desc_t of,
                    dnnl_query_t what) {
    checkLibrary(dnnl_memory_create(&out,
                                    dnnl_primitive_desc_query_md(of, what, 0),
                                    engine, DNNL_MEMORY_NONE),
                 "dnnl_memory_create");
  };
  memory(x, choice.convolution, dnnl_query_src_md);
  memory(w, choice.convolution, dnnl_query_weights_md);
  memory(y, choice.convolution, dnnl_query_dst_md);
  memory(scratch, choice.convolution, dnnl_query_scratchpad_md);
  memory(plain, choice.reorder, dnnl_query_src_md);
  memory(piece, choice.reorder, dnnl_query_dst_md);
  memory(reorderScratch, choice.reorder, dnnl_query_scratchpad_md);
  if (shape.bias) // the second of the weights
    checkLibrary(
        dnnl_memory_create(&bias,
                           dnnl_primitive_desc_query_md(
                               choice.convolution, dnnl_query_weights_md, 1),
                           engine, DNNL_MEMORY_NONE),
        "dnnl_memory_create");
}

Conv1d::~Conv1d() {
  for (dnnl_memory_t memory :
       {x, w, y, scratch, bias, plain, piece, reorderScratch})
    if (memory)
      dnnl_memory_destroy(memory);
  for (dnnl_primitive_t primitive : {convolution, reorder})
    if (primitive)
      dnnl_primitive_destroy(primitive);
  choice.destroy();
}

void Conv1d::blockWeights(dnnl_stream_t stream, const char *weights,
                          char *room) const {
  dnnl_memory_set_data_handle(reorderScratch, room + choice.primitiveScratch);
  int64_t tapBytes = shape.in * shape.out * elementBytes(shape.dtype);
  for (int64_t i = 0; i < choice.pieces; ++i) {
    int64_t from = choice.pieces - 1 - i; // whole: 0
    dnnl_memory_set_data_handle(plain,
                                const_cast<char *>(weights) + from * tapBytes);
    dnnl_memory_set_data_handle(piece, room + i * choice.pieceBytes);
    dnnl_exec_arg_t arguments[] = {{DNNL_ARG_FROM, plain},
                                   {DNNL_ARG_TO, piece},
                                   {DNNL_ARG_SCRATCHPAD, reorderScratch}};
    checkRun(dnnl_primitive_execute(reorder, stream, 3, arguments), "reorder");
  }
}

void Conv1d::widen(void *to, const void *from) const {
  int64_t rows = shape.batch * shape.time, bytes = elementBytes(shape.dtype);
#pragma omp parallel for schedule(static)
  for (int64_t row = 0; row < rows; ++row)
    convertFloats(
        TTS_F32, static_cast<float *>(to) + row * shape.in, shape.dtype,
        static_cast<const char *>(from) + row * shape.in * bytes, shape.in);
}

void Conv1d::run(dnnl_stream_t stream, void *const *operands) const {
  char *room = static_cast<char *>(operands[shape.bias ? 4 : 3]);
  blockWeights(stream, static_cast<const char *>(operands[1]), room);
  void *source = operands[0];
  if (choice.widenedX >= 0) {
    source = room + choice.widenedX;
    widen(source, operands[0]);
  }
  dnnl_memory_set_data_handle(x, source);
  dnnl_memory_set_data_handle(w, room);
  dnnl_memory_set_data_handle(y, operands[2]);
  dnnl_memory_set_data_handle(scratch, room + choice.primitiveScratch);
  dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, x},
                                 {DNNL_ARG_WEIGHTS, w},
                                 {DNNL_ARG_DST, y},
                                 {DNNL_ARG_SCRATCHPAD, scratch},
                                 {DNNL_ARG_BIAS, bias}};
  if (bias)
    dnnl_memory_set_data_handle(bias, operands[3]);
  checkRun(dnnl_primitive_execute(convolution, stream, bias ? 5 : 4, arguments),
           choice.implementation);
}

static void checkOperands(const Conv1dShape &s,
                          const std::vector<uint64_t> &bytes,
                          const std::string &where) {
  if (bytes.size() != (s.bias ? 5 : 4))
    refuseEntry(where, "rt.conv1d has not the operands it wants");
  if (s.batch < 1 || s.time < 1 || s.in < 1 || s.out < 1 || s.taps < 1 ||
      s.left < 0 || s.left >= s.taps)
    refuseEntry(where, "rt.conv1d has an extent that is not sound");
  if ((s.bias || s.accumulate) && (s.dtype != TTS_F32 || s.dtypeY != TTS_F32))
    refuseEntry(where, "rt.conv1d adds a bias or its old value in f32 only");
  uint64_t rows = uint64_t(s.batch) * uint64_t(s.time);
  uint64_t each = uint64_t(elementBytes(s.dtype));
  if (rows * s.in * each > bytes[0] ||
      uint64_t(s.taps) * s.in * s.out * each > bytes[1] ||
      rows * s.out * uint64_t(elementBytes(s.dtypeY)) > bytes[2] ||
      (s.bias && uint64_t(s.out) * 4 > bytes[3]))
    refuseEntry(where, "rt.conv1d reaches outside its operands");
}

const Conv1d &Conv1dLibrary::get(const int64_t *scalars, uint32_t numScalars,
                                 const std::vector<uint64_t> &operandBytes,
                                 const std::string &where) {
  if (numScalars != TTS_CONV1D_NUM_SCALARS)
    refuseEntry(where,
                "rt.conv1d has " + std::to_string(numScalars) + " scalars");
  int64_t dtype = scalars[TTS_CONV1D_DTYPE];
  int64_t dtypeY = scalars[TTS_CONV1D_DTYPE_Y];
  if ((dtype != TTS_F32 && dtype != TTS_BF16 && dtype != TTS_F16) ||
      (dtypeY != dtype && dtypeY != TTS_F32))
    refuseEntry(where, "rt.conv1d of a dtype that it is not for");
  Conv1dShape shape = Conv1dShape::fromScalars(scalars);
  checkOperands(shape, operandBytes, where);
  std::vector<int64_t> key(scalars, scalars + TTS_CONV1D_SCRATCH);
  const Conv1d *&known = byScalars[key];
  if (!known)
    known = &convolutions.emplace_back(shape, engine);
  const uint64_t planned = operandBytes.back();
  if (known->scratchBytes() > planned)
    refuseEntry(where, "oneDNN wants " + std::to_string(known->scratchBytes()) +
                           " bytes of scratch here, " +
                           std::to_string(planned) + " are planned");
  return *known;
}

} // namespace tts::rt
