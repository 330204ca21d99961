//===- Philox.h - counter-based random words --------------------*- C++ -*-===//
//
// Philox4x32-10 (Salmon et al., SC'11). A draw is a function of a key, made of
// the seed and a stream's name, and of four counter words: nothing else.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_CONVERSION_TTSTOKERNELS_PHILOX_H
#define TTS_CONVERSION_TTSTOKERNELS_PHILOX_H

#include "Emitter.h"
#include <array>

namespace tts::kernels {

/// Integer arithmetic of the generator.
class Philox {
public:
  using Words = std::array<mlir::Value, 4>;

  explicit Philox(Emitter &e) : e(e), b(e.builder()) {}

  /// hash(seed, stream), 64 bits.
  mlir::Value key(mlir::Value seed, llvm::StringRef stream);
  /// The low word of a 64-bit integer.
  mlir::Value low(mlir::Value x);
  /// The words of counters of one shape, scalars or lanes.
  Words draw(Words counter, mlir::Value key);
  /// The word of the element (or of each lane) at a position of a [batch, time]
  /// or [batch, time, channel] tensor, as `tts.dropout` says. Without `draw`
  /// seed and update are 0.
  mlir::Value element(mlir::Value draw, mlir::Value utterances,
                      llvm::StringRef stream, int64_t rank, const Position &at);
  /// {seed, update} of `draw`, or zeros.
  std::pair<mlir::Value, mlir::Value> seedAndUpdate(mlir::Value draw);
  /// ⌊word / 2⁸⌋ / 2²⁴ in f64.
  mlir::Value fraction(mlir::Value word);
  /// Four words of each of 8 counters as 32 lanes.
  mlir::Value interleave(const Words &words);
  /// Whether an element with this draw survives dropout.
  mlir::Value isKept(mlir::Value draw, double rate);

private:
  mlir::Value exclusiveOr(mlir::Value x, mlir::Value y);
  mlir::Value shiftRight(mlir::Value x, int64_t bits);
  mlir::Value widen(mlir::Value x);
  mlir::Value splitmix(mlir::Value seed);
  mlir::Value multiply(mlir::Value x, uint32_t factor);

  Emitter &e;
  mlir::ImplicitLocOpBuilder &b;
};

} // namespace tts::kernels

#endif // TTS_CONVERSION_TTSTOKERNELS_PHILOX_H
