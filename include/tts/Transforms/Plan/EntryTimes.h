//===- EntryTimes.h - how long an entry of the step takes ----*- C++ -*-===//

#ifndef TTS_TRANSFORMS_PLAN_ENTRYTIMES_H
#define TTS_TRANSFORMS_PLAN_ENTRYTIMES_H

#include "tts/Transforms/Plan/Hardware.h"
#include "llvm/ADT/SmallVector.h"
#include <limits>
#include <map>
#include <optional>

namespace tts::plan {

/// Bytes that an entry touches, and how many others have been touched since
/// these were.
struct Touch {
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  int64_t bytes = 0, distance = kNever;
};

/// What one entry of the step table does.
struct Work {
  /// At the end of an operation's name.
  static constexpr llvm::StringLiteral kOnDoubles = ".f64";

  /// Of a library call; else it is a kernel.
  std::optional<ProductShape> product;
  /// How many such products, one call each.
  int64_t calls = 0;
  llvm::SmallVector<Touch, 4> touches;
  /// A kernel's operations by name, and the elements that each goes through.
  llvm::SmallVector<std::pair<std::string, int64_t>, 4> operations;
};

/// A kernel takes its traffic, each byte at the bandwidth of the cache that
/// still holds it, and its operations. A product whose like was measured takes
/// its flops at the rate of the nearest ones; else flops or traffic, whichever
/// is longer. Entry and call have a fixed cost.
class EntryTimes {
public:
  /// A CPU's threads share the work evenly.
  EntryTimes(const Hardware &hardware, int threads)
      : hardware(hardware), threads(hardware.isGpu ? 1 : threads) {}

  double seconds(const Work &work) const;

  /// Flops per second of one thread as measured at shapes like this one; none
  /// if its precision was not measured.
  std::optional<double> rateNear(const ProductShape &shape) const;

private:
  std::optional<double> searchRate(const ProductShape &shape) const;
  double trafficSeconds(const Work &work) const;
  double operationSeconds(llvm::StringRef name) const;
  double productSeconds(const Work &work) const;

  const Hardware &hardware;
  int threads;
  /// Shapes come back, and each lookup goes through all that were measured.
  mutable std::map<ProductShape, std::optional<double>> known;
};

} // namespace tts::plan

#endif // TTS_TRANSFORMS_PLAN_ENTRYTIMES_H
