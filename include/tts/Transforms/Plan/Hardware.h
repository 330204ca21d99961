//===- Hardware.h - what the planner knows about a machine --*- C++ -*-===//

#ifndef TTS_TRANSFORMS_PLAN_HARDWARE_H
#define TTS_TRANSFORMS_PLAN_HARDWARE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>
#include <vector>

namespace tts::plan {

/// A convolution over time as measured on one thread: one product per tap
/// against the library's own. `transpose` is the gradient of the input.
struct ConvTime {
  bool transpose;
  int64_t rows, in, out, taps;
  int64_t productsNs, libraryNs;
};

/// One device, or one machine's CPU. Rates of a CPU are per thread.
struct Hardware {
  std::string name;
  bool isGpu = false;
  /// What the device has, and what one process can really get of it.
  int64_t memoryBytes = 0, offeredBytes = 0;
  /// Outside the arena: the process with its libraries or the CUDA context,
  /// and one library primitive (its code).
  int64_t processBytes = 0, primitiveBytes = 0;
  /// Matrix products per second and element type, in flops.
  double fp32Flops = 0, fp64Flops = 0, bf16Flops = 0;
  /// Bytes per second that element-wise kernels move.
  double bandwidth = 0;
  /// Of one entry of the step table, and of one library call inside it.
  double entrySeconds = 0, callSeconds = 0;
  /// Which way convolutions go: as at the nearest shape measured.
  std::vector<ConvTime> convTimes;
  /// Where the figures come from.
  std::string source;

  /// Matrix-product rate of a precision with that many threads.
  double flopsPerSecond(llvm::StringRef precision, int threads) const;
  double bytesPerSecond(int threads) const;

  /// Canonical JSON, and its SHA-256.
  std::string json() const;
  std::string hash() const;
};

/// Names of the built-in descriptions, "host" first.
llvm::ArrayRef<llvm::StringRef> hardwareNames();

/// A built-in description, or one read from a JSON file with the keys of
/// `Hardware::json` (what is left out is taken from "host" for a CPU).
llvm::Expected<Hardware> findHardware(llvm::StringRef nameOrPath);

/// The convolutions of `describeHost`.
llvm::ArrayRef<ConvTime> hostConvTimes();

/// This machine: memory from /proc/meminfo and the control group's limit.
Hardware describeHost();

} // namespace tts::plan

#endif // TTS_TRANSFORMS_PLAN_HARDWARE_H
