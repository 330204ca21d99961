//===- Manifest.h - the step table's manifest, as structs ----------------===//
//
// Who owns which bytes of the arena by name: parameters and their states,
// inputs per bucket, scalars, losses, outputs; and the run-time defaults.
// docs/step-table.md describes every key.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_RUNTIME_ABI_MANIFEST_H
#define TTS_RUNTIME_ABI_MANIFEST_H

#include "Runtime/Abi/DType.h"
#include "Runtime/Abi/Shard.h"
#include <string>
#include <utility>
#include <vector>

namespace tts::rt {

/// Bytes [offset, offset + size) of the arena; size 0 means absent.
struct Slice {
  uint64_t offset = 0;
  uint64_t size = 0;
  bool isShard = false; ///< of a state, which the rank has a part of only

  explicit operator bool() const { return size != 0; }
};

/// A named tensor in the arena.
struct Tensor {
  std::string name;
  TtsDType dtype = TTS_F32;
  std::vector<int64_t> shape;
  std::vector<std::string> dims; ///< names of the dims, "_" for a fixed one
  Slice at;
  std::string lengths; ///< an input filled with the extents along this dim,
                       ///< or infer's output that gives them

  int64_t elements() const;
};

/// How a parameter's first values are drawn: Train/Initialize.
struct Init {
  std::string kind = "zeros";
  std::vector<double> args;
};

struct Parameter {
  Tensor value;
  /// The pipeline stage that updates it and saves it; another may have a copy.
  int stage = 0;
  bool frozen = false;
  Init init;
  /// Dtype and shape of the value, or a shard of that.
  Slice gradient, moment1, moment2, ema;
  Slice next;     ///< of a state (running statistics): what update adopts
  Slice halfCopy; ///< the value rounded to halfDtype, or nothing
  TtsDType halfDtype = TTS_BF16;

  /// On another stage, and there is no copy here.
  bool isElsewhere = false;
};

/// The pipeline that this table is a stage of, and how many micro-batches may
/// be under way in it.
struct Stages {
  int count = 1, index = 0, slots = 1;
};

struct Bucket {
  std::vector<std::pair<std::string, int64_t>> dims;
  int64_t microBatch = 0;
  double seconds = 0; ///< predicted for one micro-batch, or 0
  std::vector<Tensor> inputs;
  std::vector<Tensor> inferInputs; ///< from a request instead of the corpus

  /// The extent of a named dim, or 0.
  int64_t extent(const std::string &dim) const;
};

struct Loss {
  std::string name;
  double coefficient = 1;
};

/// What eval or infer hands out.
struct Output {
  uint32_t bucket = 0;
  bool ofInfer = false;
  Tensor tensor;
};

struct Optimizer {
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, ema = 0;
};

struct Defaults {
  double lr = 1e-3, weightDecay = 0;
  int64_t warmup = 0;
  std::string schedule = "constant";
};

struct Manifest {
  /// Parses the JSON and checks every offset against the arena, of which `rank`
  /// has the shards.
  Manifest(std::string_view json, uint64_t arenaBytes, int rank = 0);

  /// The elements of the parameter that a slice of it holds.
  Part partOf(const Parameter &parameter, const Slice &slice) const {
    uint64_t elements =
        parameter.isElsewhere ? 0 : uint64_t(parameter.value.elements());
    return slice.isShard ? shardOf(elements, rank, ranks) : Part{0, elements};
  }
  /// Whether there are states of which a rank has a part only: gradients or
  /// parameters, or any. Ranks then exchange within each micro-batch of an
  /// update or of evaluation, so all run as many.
  bool hasShardedGradients() const;
  bool hasShardedParameters() const;
  bool hasShards() const;

  /// Whether it is this stage that updates a parameter and saves it.
  bool owns(const Parameter &parameter) const {
    return parameter.stage == stages.index;
  }

  const Tensor *scalar(const std::string &name) const;

  int64_t batch = 0; ///< utterances of an update, over all ranks
  /// An update is as many utterances as reach so many frames, and `batch` what
  /// that is on average; 0: always `batch`.
  int64_t batchFrames = 0;
  int threads = 1, ranks = 1, rank = 0;
  /// Which of the executable's tables each rank runs; empty where it has one.
  std::vector<uint32_t> roleOfRank;
  Stages stages;
  /// Groups of shards whose sums are added as a tree; 1 where the order of a
  /// sum may depend on the number of ranks.
  int groups = 1;
  std::string wholeBatch; ///< layer that needs an update in one micro-batch
  /// Backward updates each parameter; there is neither zero nor update.
  bool updateInBackward = false;
  std::string featuresHash; ///< of the corpus the model was made for, or empty
  uint64_t budgetBytes = 0, peakBytes = 0, overheadBytes = 0;
  uint64_t hostBufferBytes = 0;
  Optimizer optimizer;
  Defaults defaults;
  std::vector<Bucket> buckets;
  std::vector<Parameter> parameters;
  std::vector<Tensor> scalars;
  std::vector<Loss> losses;
  std::vector<Output> outputs;
};

} // namespace tts::rt

#endif // TTS_RUNTIME_ABI_MANIFEST_H
