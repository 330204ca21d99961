//===- Corpus.h - the index of a corpus directory ------------------------===//
//
// Reads manifest.json and every shard's header at start, keeps for each
// utterance where its tensors lie, how long they are and their checksums, and
// the shards open. The manifest vouches for the headers, these for the tensors,
// which are checked as they are read: all of a corpus is checked, and nothing
// is read for it alone. Fixed-size records in a few arrays: an index of 100,000
// utterances with five inputs takes about 10 MB.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_RUNTIME_IO_CORPUS_H
#define TTS_RUNTIME_IO_CORPUS_H

#include "Runtime/Abi/DType.h"
#include "Runtime/IO/File.h"
#include <atomic>
#include <string>
#include <vector>

namespace tts::rt {

/// A tensor stored for every utterance.
struct CorpusInput {
  std::string name;
  TtsDType dtype = TTS_F32;
  struct Dim {
    int symbol = -1;    ///< index into Corpus::dims, or -1:
    int64_t extent = 0; ///< a fixed extent
  };
  std::vector<Dim> dims;
};

/// A split: utterances [first, end) of the global ids, by shard.
struct Split {
  std::string name;
  std::vector<std::string> files;
  std::vector<std::string> headers; ///< CRC-32 of each file's; empty: unknown
  uint32_t first = 0, end = 0;
  std::vector<uint32_t> shardSizes; ///< utterances of each shard, in order

  uint32_t size() const { return end - first; }
};

class Corpus {
public:
  /// Reads the index; throws Exit::BadInput for anything missing or damaged.
  /// `evaluated` is the split that stands in for validation.
  explicit Corpus(const std::string &directory,
                  const std::string &evaluated = "validation");

  uint32_t size() const { return uint32_t(shardOf.size()); }
  std::string id(uint32_t utterance) const;
  /// The utterance of that id, or size().
  uint32_t find(const std::string &id) const;
  /// Extent of an utterance along a named dim.
  int64_t extent(uint32_t utterance, int dim) const {
    return extents[size_t(utterance) * dims.size() + size_t(dim)];
  }
  /// The named dim's index, or -1.
  int dim(const std::string &name) const;

  uint64_t inputBytes(uint32_t utterance, const CorpusInput &input) const;
  /// Reads one tensor of an utterance: inputBytes().
  void read(uint32_t utterance, size_t input, void *data) const;
  /// By all calls of read.
  uint64_t bytesRead() const { return readBytes; }

  /// A hash of all ids in order, and of the headers' checksums where they are
  /// known: which corpus a data position belongs to.
  uint64_t identity() const { return idHash; }

  std::string directory;
  std::string featuresHash;
  /// Of its training and validation split, as the certificate has it; empty
  /// where the manifest knows no checksums.
  std::string hash;
  std::vector<std::string> dims; ///< names
  std::vector<CorpusInput> inputs;
  Split train, validation;
  int frames = 0; ///< the dim that counts frames: "frames", else the last

private:
  void readManifest(std::vector<Split> &others);
  void readShard(size_t number, Split &split);
  void refuseSharedIds(const std::vector<Split> &others) const;

  std::vector<File> shards;
  std::vector<uint16_t> shardOf;   ///< per utterance
  std::vector<int32_t> extents;    ///< utterance × dims
  std::vector<uint64_t> offsets;   ///< utterance × inputs, in the shard's file
  std::vector<uint32_t> crcs;      ///< as offsets; empty: unknown
  std::vector<uint32_t> idOffsets; ///< per utterance, into idText
  mutable std::atomic<uint64_t> readBytes{0};
  std::string idText; ///< ids, each NUL-terminated
  uint64_t idHash = 0;
};

} // namespace tts::rt

#endif // TTS_RUNTIME_IO_CORPUS_H
