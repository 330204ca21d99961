//===- ToyModel.h - a whole model as a hand-built step table -------------===//
//
// mel (F32 [frames, 2]) and phones (I32 [text]); parameters w [2, 2], b [2]
// and c [1]. Losses: "mel" = Σ over valid frames (mel·w + b − mel/2)² with the
// denominator 2 · frames; "phone" = Σ over valid phones (c − phone)² with the
// denominator phones. AdamW with clipping and EMA. The output "mel" of eval is
// mel·w + b. Everything about accumulation can be worked out by hand on it.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_TEST_RUNTIME_TOYMODEL_H
#define TTS_TEST_RUNTIME_TOYMODEL_H

#include "TableBuilder.h"
#include <string>
#include <vector>

namespace tts::test {

struct ToyBucket {
  int microBatch; ///< 1, 2 or 4
  int extent;     ///< of text and of frames: 4, 8 or 16
};

struct ToyOptions {
  int batch = 4;
  int batchFrames = 0; ///< updates are counted in frames
  double peak = 0;     ///< planned, in bytes; 0: what it takes
  int hostBuffer = 0;  ///< planned, in bytes; 0: as the corpus needs
  int threads = 2;
  std::vector<ToyBucket> buckets = {{4, 4}, {2, 8}, {1, 16}};
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double ema = 0.9;
  double clip = 1e30;
  std::string featuresHash;
  std::string schedule = "constant";
  double phoneInit = 0;
  int ranks = 1;
};

struct Toy {
  std::vector<uint64_t> blob;
  std::vector<TtsKernel> kernels;
  uint64_t arenaBytes;

  uint64_t blobBytes() const { return blob.size() * 8; }
};

Toy makeToy(const ToyOptions &options = {});

} // namespace tts::test

#endif // TTS_TEST_RUNTIME_TOYMODEL_H
