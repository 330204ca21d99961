//===- Inputs.h - from an utterance's tensors to a bucket's inputs -------===//
//
// Binds each input of each bucket to its source at start: a tensor of the
// corpus, the extents along a dim, or the global id. Filling a micro-batch is
// then copying with zero padding; empty slots stay zero, their id is -1.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_RUNTIME_IO_INPUTS_H
#define TTS_RUNTIME_IO_INPUTS_H

#include "Runtime/Abi/Manifest.h"
#include "Runtime/IO/Corpus.h"
#include "Runtime/Memory/Arena.h"
#include <vector>

namespace tts::rt {

class Inputs {
public:
  /// Throws Exit::BadInput when the corpus lacks an input or stores it in
  /// another form, or was made with other features than the model.
  Inputs(const Corpus &corpus, const Manifest &manifest);

  /// The corpus's inputs that the model takes.
  const std::vector<size_t> &taken() const { return takenInputs; }

  /// The first bucket that holds each utterance. Throws Exit::BadInput with
  /// the ids of those that none holds.
  std::vector<uint8_t> assignBuckets() const;

  /// Fills the inputs of a bucket from `count` utterances; `data(i, t)` is
  /// where tensor taken()[t] of utterance i lies.
  template <typename Data>
  void fill(const Arena &arena, uint32_t bucket, const uint32_t *utterances,
            uint32_t count, Data data) const {
    clear(arena, bucket);
    for (uint32_t i = 0; i < count; ++i)
      for (const Binding &b : bindings[bucket])
        put(arena, b, i, utterances[i],
            b.source == Source::Tensor ? data(i, b.taken) : nullptr);
  }

private:
  enum class Source { Tensor, Lengths, Utterance };
  struct Binding {
    const Tensor *input;
    Source source;
    size_t taken; ///< index into takenInputs
    int dim;      ///< of Lengths
  };
  Binding bind(const Bucket &bucket, const Tensor &input);
  void checkShape(const Bucket &bucket, const Tensor &input,
                  const CorpusInput &stored) const;
  void clear(const Arena &arena, uint32_t bucket) const;
  void put(const Arena &arena, const Binding &binding, uint32_t slot,
           uint32_t utterance, const char *data) const;

  const Corpus &corpus;
  const Manifest &manifest;
  std::vector<size_t> takenInputs;
  std::vector<std::vector<Binding>> bindings; ///< per bucket
};

} // namespace tts::rt

#endif // TTS_RUNTIME_IO_INPUTS_H
