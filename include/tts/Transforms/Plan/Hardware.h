//===- Hardware.h - what the planner knows about a machine --*- C++ -*-===//

#ifndef TTS_TRANSFORMS_PLAN_HARDWARE_H
#define TTS_TRANSFORMS_PLAN_HARDWARE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <map>
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

/// A product of matrices, M × K by K × N; or the library's convolution over
/// time (`taps` > 0): M rows of K channels to N.
struct ProductShape {
  /// Of the factors: "fp32", "bf16"…
  std::string precision;
  bool transposeA = false, transposeB = false, accumulates = false;
  int64_t m = 1, n = 1, k = 1, taps = 0;

  double flops() const;
  /// How unlike another of the same precision.
  double distance(const ProductShape &other) const;
  bool operator<(const ProductShape &other) const;
};

/// What was reached of it inside a step, in flops per second and thread.
struct ProductRate {
  ProductShape shape;
  double flopsPerSecond = 0;
};

/// Bytes that an entry touches again before `bytes` others were touched come
/// at this bandwidth.
struct Cache {
  int64_t bytes = 0;
  double bandwidth = 0;
};

/// Something counted per second: the maker's peak, and what is reached of it.
struct Rate {
  double peak = 0, fraction = 1;

  double reached() const { return peak * fraction; }
};

/// What joins devices. Its bandwidth is what a collective moves per device and
/// direction ("bus bandwidth"), its latency that of one round of messages.
struct Link {
  std::string name;
  /// As many ranks as it can join; 0: any number.
  int64_t ranks = 0;
  double bandwidth = 0, latency = 0;
};

/// What the collective library holds on each device from so many ranks on.
struct CollectiveBuffers {
  int64_t ranks = 2, bytes = 0;
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
  /// Matrix products, in flops, dense. tf32 is known but never used: the bits
  /// of fp32 are those of the CPU.
  Rate fp32, tf32, bf16, fp16, fp64;
  /// Bytes that element-wise kernels move.
  Rate bandwidth;
  /// Of one entry of the step table, and of one library call inside it.
  double entrySeconds = 0, callSeconds = 0;
  /// The nearest first, and ascending in ranks.
  std::vector<Link> links;
  std::vector<CollectiveBuffers> collectives;
  /// Which way convolutions go: as at the nearest shape measured.
  std::vector<ConvTime> convTimes;
  /// As measured by tts.calibrate; without them the rates above count.
  std::vector<ProductRate> products;
  /// The smallest first.
  std::vector<Cache> caches;
  /// Of an element of an operation inside a kernel, beyond its traffic, on one
  /// thread; "bf16" and "fp16": of converting an element in memory.
  std::map<std::string, double, std::less<>> operationSeconds;
  /// Where the figures come from: one line for all of them, and more by key.
  std::string source;
  std::map<std::string, std::string> sources;

  /// Matrix-product rate of a precision with that many threads.
  double flopsPerSecond(llvm::StringRef precision, int threads) const;
  double bytesPerSecond(int threads) const;

  /// The first link that joins so many ranks, or null.
  const Link *linkOf(int64_t ranks) const;
  /// The collective library's bytes on each of so many ranks.
  int64_t collectiveBytes(int64_t ranks) const;
  /// Of summing `bytes` over ranks, by halves where they are a power of two,
  /// else in a ring; without a link for them 0.
  double allReduceSeconds(int64_t bytes, int64_t ranks) const;

  /// Canonical JSON, and its SHA-256.
  std::string json() const;
  std::string hash() const;
};

/// What each rank sends while `bytes` are summed over ranks in a ring:
/// 2 (N-1)/N of them, rounded up.
int64_t allReduceBytes(int64_t bytes, int64_t ranks);

/// Names of the built-in descriptions, "host" first.
llvm::ArrayRef<llvm::StringRef> hardwareNames();

/// The built-in devices, in the order of their names.
llvm::ArrayRef<Hardware> knownDevices();

/// A built-in description, or one read from a JSON file with the keys of
/// `Hardware::json` (what is left out is taken from "host" for a CPU).
llvm::Expected<Hardware> findHardware(llvm::StringRef nameOrPath);

/// A description in JSON; `place` names it in messages.
llvm::Expected<Hardware> parseHardware(llvm::StringRef text,
                                       llvm::StringRef place);

/// The convolutions of `describeHost`.
llvm::ArrayRef<ConvTime> hostConvTimes();

/// This machine: memory from /proc/meminfo and the control group's limit.
Hardware describeHost();

} // namespace tts::plan

#endif // TTS_TRANSFORMS_PLAN_HARDWARE_H
