//===- Conv1d.h - rt.conv1d: oneDNN convolutions made at start -----------===//
//
// Each call puts the weights into the blocks that oneDNN wants, in planned
// scratch, and convolves: the model's weights stay as they are.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_RUNTIME_DEVICE_CPU_CONV1D_H
#define TTS_RUNTIME_DEVICE_CPU_CONV1D_H

#include "Runtime/Device/Cpu/ConvScratch.h"
#include "Runtime/Device/Cpu/LibraryCall.h"
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

namespace tts::rt {

/// A convolution of one shape, ready to run on operands X, W, Y, the bias if
/// there is one, scratch.
class Conv1d : public LibraryCall {
public:
  Conv1d(const Conv1dShape &shape, dnnl_engine_t engine);
  ~Conv1d() override;
  Conv1d(const Conv1d &) = delete;
  Conv1d &operator=(const Conv1d &) = delete;

  void run(dnnl_stream_t stream, void *const *operands) const override;
  void runOne(dnnl_stream_t stream, void *const *operands) const override {
    run(stream, operands);
  }
  const char *implementation() const override { return choice.implementation; }
  uint64_t scratchBytes() const { return choice.scratchBytes; }

private:
  void blockWeights(dnnl_stream_t stream, const char *weights,
                    char *room) const;
  void widen(void *to, const void *from) const;

  Conv1dShape shape;
  Conv1dChoice choice;
  dnnl_primitive_t convolution = nullptr, reorder = nullptr;
  dnnl_memory_t x = nullptr, w = nullptr, y = nullptr, scratch = nullptr;
  dnnl_memory_t bias = nullptr; ///< null: none
  dnnl_memory_t plain = nullptr, piece = nullptr, reorderScratch = nullptr;
};

/// All convolutions of a table, one per distinct shape.
class Conv1dLibrary {
public:
  explicit Conv1dLibrary(dnnl_engine_t engine) : engine(engine) {}

  /// As GemmLibrary::get.
  const Conv1d &get(const int64_t *scalars, uint32_t numScalars,
                    const std::vector<uint64_t> &operandBytes,
                    const std::string &where);

private:
  dnnl_engine_t engine;
  std::deque<Conv1d> convolutions;
  std::map<std::vector<int64_t>, const Conv1d *> byScalars;
};

} // namespace tts::rt

#endif // TTS_RUNTIME_DEVICE_CPU_CONV1D_H
