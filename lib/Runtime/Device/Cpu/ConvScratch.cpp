//===- ConvScratch.cpp - asks oneDNN for a convolution --------------------===//
//
// Tensors are [batch, time, channel], which oneDNN calls nwc. The input
// gradient is a forward convolution too: over reversed taps, with the weights'
// channels exchanged.
//
//===----------------------------------------------------------------------===//

#include "Runtime/Device/Cpu/ConvScratch.h"
#include "Runtime/Device/Cpu/GemmScratch.h"
#include "tts-runtime/Format.h"
#include <algorithm>
#include <cstring>

namespace tts::rt {

Conv1dShape Conv1dShape::fromScalars(const int64_t *scalars) {
  Conv1dShape s;
  s.batch = scalars[TTS_CONV1D_BATCH];
  s.time = scalars[TTS_CONV1D_TIME];
  s.in = scalars[TTS_CONV1D_IN];
  s.out = scalars[TTS_CONV1D_OUT];
  s.taps = scalars[TTS_CONV1D_TAPS];
  s.left = scalars[TTS_CONV1D_LEFT];
  s.transpose = scalars[TTS_CONV1D_TRANSPOSE] != 0;
  s.accumulate = scalars[TTS_CONV1D_BETA] != 0;
  s.bias = scalars[TTS_CONV1D_BIAS] != 0;
  s.dtype = TtsDType(scalars[TTS_CONV1D_DTYPE]);
  s.dtypeY = TtsDType(scalars[TTS_CONV1D_DTYPE_Y]);
  return s;
}

void Conv1dChoice::destroy() {
  for (dnnl_primitive_desc_t *descriptor : {&convolution, &reorder}) {
    if (*descriptor)
      dnnl_primitive_desc_destroy(*descriptor);
    *descriptor = nullptr;
  }
}

namespace {

/// Library scratch where we tell it; perhaps the result's old value is added.
struct Attributes {
  dnnl_primitive_attr_t value = nullptr;

  explicit Attributes(bool accumulate = false) {
    if (dnnl_primitive_attr_create(&value) != dnnl_success)
      return;
    dnnl_primitive_attr_set_scratchpad_mode(value, dnnl_scratchpad_mode_user);
    dnnl_post_ops_t operations = nullptr;
    if (!accumulate || dnnl_post_ops_create(&operations) != dnnl_success)
      return;
    dnnl_post_ops_append_sum(operations, 1.0f);
    dnnl_primitive_attr_set_post_ops(value, operations);
    dnnl_post_ops_destroy(operations);
  }
  ~Attributes() {
    if (value)
      dnnl_primitive_attr_destroy(value);
  }
};

/// As the primitive sees it.
Conv1dShape called(Conv1dShape s, bool widened) {
  if (widened)
    s.dtype = TTS_F32;
  return s;
}

bool describeOperation(const Conv1dShape &s, dnnl_convolution_desc_t &out) {
  dnnl_dims_t x = {s.batch, s.in, s.time}, y = {s.batch, s.out, s.time},
              w = {s.out, s.in, s.taps};
  dnnl_memory_desc_t source, weights, destination, bias;
  int64_t left = s.transpose ? s.taps - 1 - s.left : s.left;
  dnnl_dims_t stride = {1}, dilation = {0}, before = {left},
              after = {s.taps - 1 - left};
  dnnl_data_type_t type = libraryType(s.dtype);
  return left >= 0 && left < s.taps &&
         dnnl_memory_desc_init_by_tag(&source, 3, x, type, dnnl_nwc) ==
             dnnl_success &&
         dnnl_memory_desc_init_by_tag(&weights, 3, w, type,
                                      dnnl_format_tag_any) == dnnl_success &&
         dnnl_memory_desc_init_by_tag(&destination, 3, y, libraryType(s.dtypeY),
                                      dnnl_nwc) == dnnl_success &&
         dnnl_memory_desc_init_by_tag(&bias, 1, &s.out, dnnl_f32, dnnl_x) ==
             dnnl_success &&
         dnnl_dilated_convolution_forward_desc_init(
             &out, dnnl_forward_training, dnnl_convolution_direct, &source,
             &weights, s.bias ? &bias : nullptr, &destination, stride, dilation,
             before, after) == dnnl_success;
}

bool isBatchReduce(dnnl_primitive_desc_t descriptor) {
  const char *name = nullptr;
  dnnl_primitive_desc_query(descriptor, dnnl_query_impl_info_str, 0, &name);
  return name && std::strncmp(name, "brgconv", 7) == 0;
}

dnnl_primitive_desc_t findConvolution(const Conv1dShape &shape,
                                      dnnl_engine_t engine) {
  dnnl_convolution_desc_t operation;
  Attributes attributes(shape.accumulate);
  dnnl_primitive_desc_iterator_t iterator = nullptr;
  if (!describeOperation(shape, operation) ||
      dnnl_primitive_desc_iterator_create(&iterator, &operation,
                                          attributes.value, engine,
                                          nullptr) != dnnl_success)
    return nullptr;
  dnnl_primitive_desc_t found = nullptr;
  do {
    dnnl_primitive_desc_t next = dnnl_primitive_desc_iterator_fetch(iterator);
    if (next && isBatchReduce(next))
      found = next;
    else if (next)
      dnnl_primitive_desc_destroy(next);
  } while (!found &&
           dnnl_primitive_desc_iterator_next(iterator) == dnnl_success);
  dnnl_primitive_desc_iterator_destroy(iterator);
  return found;
}

/// From the weights as the model has them, [taps, in, out], or [taps, out, in]
/// of which one tap is a piece, to oneDNN's blocks.
bool describeReorder(const Conv1dShape &s, const dnnl_memory_desc_t &blocked,
                     dnnl_engine_t engine, Conv1dChoice &choice) {
  dnnl_dims_t dims = {s.out, s.in, s.transpose ? 1 : s.taps}, zero = {0, 0, 0};
  dnnl_dims_t strides = {s.transpose ? s.in : 1, s.transpose ? 1 : s.out,
                         s.in * s.out};
  dnnl_memory_desc_t plain, piece = blocked;
  if (dnnl_memory_desc_init_by_strides(&plain, 3, dims, libraryType(s.dtype),
                                       strides) != dnnl_success)
    return false;
  if (s.transpose) {
    choice.pieces = s.taps;
    choice.pieceBytes = blocked.format_desc.blocking.strides[2] *
                        int64_t(dnnl_data_type_size(blocked.data_type));
    if (dnnl_memory_desc_init_submemory(&piece, &blocked, dims, zero) !=
        dnnl_success)
      return false;
  }
  Attributes attributes;
  return dnnl_reorder_primitive_desc_create(&choice.reorder, &plain, engine,
                                            &piece, engine,
                                            attributes.value) == dnnl_success;
}

uint64_t scratchOf(dnnl_primitive_desc_t descriptor) {
  const dnnl_memory_desc_t *scratch =
      dnnl_primitive_desc_query_md(descriptor, dnnl_query_scratchpad_md, 0);
  return scratch ? dnnl_memory_desc_get_size(scratch) : 0;
}

uint64_t aligned(uint64_t bytes) {
  return (bytes + TTS_ARENA_ALIGNMENT - 1) / TTS_ARENA_ALIGNMENT *
         TTS_ARENA_ALIGNMENT;
}

} // namespace

/// The descriptors of a convolution in the shape's own types or in F32.
static Conv1dChoice describe(const Conv1dShape &shape, dnnl_engine_t engine,
                             bool widened) {
  Conv1dChoice choice;
  choice.convolution = findConvolution(called(shape, widened), engine);
  if (!choice.convolution)
    return choice;
  const dnnl_memory_desc_t *blocked = dnnl_primitive_desc_query_md(
      choice.convolution, dnnl_query_weights_md, 0);
  if (!describeReorder(shape, *blocked, engine, choice)) {
    choice.destroy();
    return choice;
  }
  dnnl_primitive_desc_query(choice.convolution, dnnl_query_impl_info_str, 0,
                            &choice.implementation);
  choice.primitiveScratch = aligned(dnnl_memory_desc_get_size(blocked));
  choice.scratchBytes =
      choice.primitiveScratch + aligned(std::max(scratchOf(choice.convolution),
                                                 scratchOf(choice.reorder)));
  if (widened) {
    choice.widenedX = int64_t(choice.scratchBytes);
    choice.scratchBytes +=
        aligned(uint64_t(shape.batch * shape.time * shape.in) * 4);
  }
  return choice;
}

Conv1dChoice chooseConv1d(const Conv1dShape &shape, dnnl_engine_t engine) {
  Conv1dChoice own = describe(shape, engine, /*widened=*/false);
  bool isHalf = shape.dtype != TTS_F32;
  if (!isHalf || shape.dtypeY != TTS_F32 ||
      (own.convolution && isFasterThanF32(own.implementation)))
    return own;
  Conv1dChoice widened = describe(shape, engine, /*widened=*/true);
  if (!widened.convolution)
    return own;
  own.destroy();
  return widened;
}

int64_t conv1dScratchBytes(const Conv1dShape &shape, int threads) {
  return askWithThreads(threads, [&](dnnl_engine_t engine) {
    Conv1dChoice choice = chooseConv1d(shape, engine);
    int64_t bytes = choice.convolution ? int64_t(choice.scratchBytes) : -1;
    choice.destroy();
    return bytes;
  });
}

} // namespace tts::rt
