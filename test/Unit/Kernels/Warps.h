//===- Warps.h - GPU kernels run on this CPU, lane by lane ------*- C++ -*-===//
//
// The NVVM that becomes a cubin, with its few intrinsics as functions of our
// own: a lane is a fiber that runs until the warp has to meet.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_TEST_UNIT_KERNELS_WARPS_H
#define TTS_TEST_UNIT_KERNELS_WARPS_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "tts-runtime/Abi.h"
#include <map>
#include <memory>
#include <string>

namespace tts::test {

/// In which order lanes run between two meetings. What depends on it is a race.
enum class LaneOrder { Ascending, Descending };

/// A module of NVVM kernels, compiled for this CPU.
class Warps {
public:
  explicit Warps(mlir::gpu::GPUModuleOp module);
  ~Warps();
  /// The kernel's code with the operands of TtsKernel, to be called by
  /// `launch`.
  TtsKernel operator[](const std::string &name) const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

/// Runs every warp of a grid, one after the other. The lanes of a warp that do
/// not meet where the others do fail the test.
void launch(TtsKernel kernel, void *const *operands, int64_t lo, int64_t hi,
            int32_t blocks, LaneOrder order);

} // namespace tts::test

#endif // TTS_TEST_UNIT_KERNELS_WARPS_H
