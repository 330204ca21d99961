//===- Gemm.h - rt.gemm: oneDNN primitives made at start -----------------===//
//
// One primitive per distinct shape, shared by the entries that use it; a call
// sets four addresses and runs.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_RUNTIME_DEVICE_CPU_GEMM_H
#define TTS_RUNTIME_DEVICE_CPU_GEMM_H

#include "Runtime/Device/Cpu/GemmScratch.h"
#include "Runtime/Device/Cpu/LibraryCall.h"
#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <vector>

namespace tts::rt {

/// A matmul of one shape, ready to run.
class Gemm : public LibraryCall {
public:
  Gemm(const GemmShape &shape, dnnl_engine_t engine);
  ~Gemm() override;
  Gemm(const Gemm &) = delete;
  Gemm &operator=(const Gemm &) = delete;

  /// Operands A, B, C, the bias if there is one and, when scratchBytes() > 0,
  /// scratch.
  void run(dnnl_stream_t stream, void *const *operands) const override;
  void runOne(dnnl_stream_t stream, void *const *operands) const override;

  uint64_t scratchBytes() const { return choice.scratchBytes; }
  const char *implementation() const override {
    return isPlain() ? "plain" : choice.implementation;
  }
  /// The library has none that allocates nothing: loops of our own.
  bool isPlain() const { return !choice.descriptor; }
  int64_t multiplyAdds() const {
    return shape.m * shape.n * shape.k * shape.batch;
  }

private:
  void runElement(dnnl_stream_t stream, void *const *operands,
                  int64_t element) const;
  void call(dnnl_stream_t stream, char *a, char *b, char *c, void *bias,
            void *scratch) const;

  GemmShape shape;
  GemmChoice choice;
  dnnl_primitive_t primitive = nullptr;
  dnnl_memory_t a = nullptr, b = nullptr, c = nullptr, scratch = nullptr;
  dnnl_memory_t bias = nullptr; ///< null: none
};

/// All matmuls of a table.
class GemmLibrary {
public:
  GemmLibrary();
  ~GemmLibrary();
  GemmLibrary(const GemmLibrary &) = delete;
  GemmLibrary &operator=(const GemmLibrary &) = delete;

  /// The primitive for an entry's scalars; `where` names the entry in errors.
  /// `operandBytes` are the sizes of its operands: what the shape touches must
  /// lie inside, and the last must hold the scratch that oneDNN wants here.
  const Gemm &get(const int64_t *scalars, uint32_t numScalars,
                  const std::vector<uint64_t> &operandBytes,
                  const std::string &where);

  dnnl_engine_t engine() const { return theEngine; }
  dnnl_stream_t stream() const { return theStream; }
  const std::deque<Gemm> &primitives() const { return gemms; }

private:
  dnnl_engine_t theEngine = nullptr;
  dnnl_stream_t theStream = nullptr;
  std::deque<Gemm> gemms;
  std::map<std::vector<int64_t>, const Gemm *> byScalars;
};

} // namespace tts::rt

#endif // TTS_RUNTIME_DEVICE_CPU_GEMM_H
