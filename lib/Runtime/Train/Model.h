//===- Model.h - a compiled model, brought up ----------------------------===//
//
// Table, manifest, arena and executor of the program this runtime is linked
// with, and its tensors by name. Both the training loop and the C API run on
// it.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_RUNTIME_TRAIN_MODEL_H
#define TTS_RUNTIME_TRAIN_MODEL_H

#include "Runtime/Abi/Manifest.h"
#include "Runtime/Abi/Table.h"
#include "Runtime/Device/Cpu/Executor.h"
#include "Runtime/Memory/Arena.h"
#include <string>
#include <vector>

namespace tts::rt {

class Model {
public:
  /// Checks the table, commits the arena, makes the primitives, rehearses, and
  /// leaves the arena zero. Throws Exit::Refused.
  /// `world` is needed by a model of several ranks.
  Model(const void *blob, uint64_t blobBytes, const TtsKernel *kernels,
        World *world = nullptr);

  /// Runs the program of that kind; `bucket` is ignored for zero and update,
  /// `slot` is that of a stage's forward and backward.
  void run(TtsProgramKind kind, uint32_t bucket, uint32_t slot = 0);
  /// The last backward of an update whose gradients are final as it ends.
  void runLastBackward(uint32_t bucket, uint32_t slot = 0);
  bool has(TtsProgramKind kind, uint32_t bucket) const;

  /// A tensor by its public name, or throws Exit::BadInput: a parameter's own
  /// name; grad:, moment1:, moment2:, ema:, half: and a parameter; loss: or
  /// denominator: and a loss; scalar:NAME; input:, output: (of eval) or infer:
  /// (its output) and a name, of the given bucket.
  Tensor find(const std::string &name, uint32_t bucket) const;

  /// A one-element F32 or F64 scalar as a double; the second form of a wider.
  double readScalar(const Tensor &scalar) const;
  void writeScalar(const Tensor &scalar, const double *values, size_t count);

  const Table table;
  const Manifest manifest;
  Arena arena;
  Executor executor;
  World *const world; ///< null: one rank

  /// Scalars that every update touches, resolved once; null for a loss of
  /// another stage.
  struct LossScalars {
    const Tensor *sum, *denominator, *weight;
  };
  std::vector<LossScalars> losses; ///< in the manifest's order
  const Tensor *draw = nullptr;    ///< null: the model draws nothing
  const Tensor *optimizer = nullptr;
  const Tensor *gradNorm = nullptr;
  const Tensor *inverseLossScale = nullptr; ///< of fp16's update only

private:
  void resolveScalars();

  static constexpr uint32_t none = ~0u;
  void indexPrograms();
  uint32_t programOf(TtsProgramKind kind, uint32_t bucket,
                     uint32_t slot = 0) const;
  std::vector<uint32_t> programIndex; ///< kind × (buckets + 1) × slots
};

} // namespace tts::rt

#endif // TTS_RUNTIME_TRAIN_MODEL_H
