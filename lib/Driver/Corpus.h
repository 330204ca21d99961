//===- Corpus.h - what planning takes from a corpus ---------*- C++ -*-===//

#ifndef TTS_LIB_DRIVER_CORPUS_H
#define TTS_LIB_DRIVER_CORPUS_H

#include "Failure.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <map>
#include <string>
#include <vector>

namespace tts {

/// From the manifest.json of a corpus directory.
struct Corpus {
  using Dims = std::map<std::string, int64_t>;

  std::string featuresHash;
  /// Of what is trained and validated with (docs/corpus.md); empty where the
  /// manifest has no checksums.
  std::string hash;
  std::vector<Dims> suggestedBuckets;
  /// (text, frames, how many utterances) of the training split.
  struct Lengths {
    int64_t text, frames, count;
  };
  std::vector<Lengths> histogram;

  /// Of an utterance of the training split.
  double meanFrames() const;
  /// The part of the utterances whose first bucket that holds them is each
  /// one; `outside` counts those that no bucket holds.
  llvm::SmallVector<double> shares(llvm::ArrayRef<Dims> buckets,
                                   int64_t &outside) const;
};

llvm::Expected<Corpus> readCorpus(llvm::StringRef directory);

} // namespace tts

#endif // TTS_LIB_DRIVER_CORPUS_H
