//===- Inputs.cpp - binding, bucket choice, padding ----------------------===//
//
// An f64 model reads the same corpus: values are widened while they are copied.
//
//===----------------------------------------------------------------------===//

#include "Runtime/IO/Inputs.h"
#include "Runtime/Abi/Error.h"
#include <algorithm>
#include <cstring>

namespace tts::rt {

namespace {

template <typename From, typename To>
void widen(const char *from, char *to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    From value;
    std::memcpy(&value, from + i * int64_t(sizeof(From)), sizeof(From));
    To wide = To(value);
    std::memcpy(to + i * int64_t(sizeof(To)), &wide, sizeof(To));
  }
}

using Copy = void (*)(const char *from, char *to, int64_t n);

/// How to copy n values of one dtype as another; null if that loses values.
Copy copyFor(TtsDType from, TtsDType to) {
  if (from == to)
    return dtypeSize(from) == 4   ? widen<int32_t, int32_t>
           : dtypeSize(from) == 8 ? Copy(widen<int64_t, int64_t>)
                                  : Copy(widen<int16_t, int16_t>);
  if (from == TTS_F32 && to == TTS_F64)
    return widen<float, double>;
  if (from == TTS_I32 && to == TTS_I64)
    return widen<int32_t, int64_t>;
  if (from == TTS_I32 && to == TTS_F32)
    return widen<int32_t, float>;
  if (from == TTS_I32 && to == TTS_F64)
    return widen<int32_t, double>;
  return nullptr;
}

/// Copies a dense tensor into the corner of a larger one, row by row.
struct CornerCopy {
  Copy copy;
  uint64_t fromSize, toSize; ///< of an element
  const int64_t *fromShape, *toShape;
  int rank;

  int64_t volume(const int64_t *shape, int first) const {
    int64_t n = 1;
    for (int d = first; d < rank; ++d)
      n *= shape[d];
    return n;
  }

  void run(const char *from, char *to, int dim = 0) const {
    // From here on both are dense in the same way: one copy.
    if (dim >= rank ||
        std::equal(fromShape + dim + 1, fromShape + rank, toShape + dim + 1))
      return copy(from, to, volume(fromShape, dim));
    int64_t fromStep = volume(fromShape, dim + 1);
    int64_t toStep = volume(toShape, dim + 1);
    for (int64_t i = 0; i < fromShape[dim]; ++i)
      run(from + i * fromStep * int64_t(fromSize),
          to + i * toStep * int64_t(toSize), dim + 1);
  }
};

constexpr int maxRank = 8;

[[noreturn]] void mismatch(const Corpus &corpus, const std::string &what) {
  throw Error(Exit::BadInput, corpus.directory, what,
              "prepare a corpus for this model or recompile the model for "
              "this corpus");
}

} // namespace

Inputs::Inputs(const Corpus &corpus, const Manifest &manifest)
    : corpus(corpus), manifest(manifest) {
  if (!manifest.featuresHash.empty() &&
      manifest.featuresHash != corpus.featuresHash)
    mismatch(corpus, "its features (" + corpus.featuresHash.substr(0, 12) +
                         "…) are not those the model was made for (" +
                         manifest.featuresHash.substr(0, 12) + "…)");
  for (const Bucket &bucket : manifest.buckets) {
    bindings.emplace_back();
    for (const Tensor &input : bucket.inputs)
      bindings.back().push_back(bind(bucket, input));
  }
}

Inputs::Binding Inputs::bind(const Bucket &bucket, const Tensor &input) {
  if (!input.lengths.empty()) {
    int dim = corpus.dim(input.lengths);
    if (dim < 0)
      mismatch(corpus, "no input has the dim '" + input.lengths + "'");
    if (input.shape.size() != 1 || !copyFor(TTS_I32, input.dtype))
      mismatch(corpus, "input '" + input.name + "' cannot hold lengths");
    return {&input, Source::Lengths, 0, dim};
  }
  if (input.name == "utterance") {
    if (input.dtype != TTS_I64 || input.shape.size() != 1)
      mismatch(corpus, "input 'utterance' is not I64 [batch]");
    return {&input, Source::Utterance, 0, 0};
  }
  for (size_t i = 0; i < corpus.inputs.size(); ++i) {
    if (corpus.inputs[i].name != input.name)
      continue;
    checkShape(bucket, input, corpus.inputs[i]);
    auto known = std::find(takenInputs.begin(), takenInputs.end(), i);
    size_t taken = size_t(known - takenInputs.begin());
    if (known == takenInputs.end())
      takenInputs.push_back(i);
    return {&input, Source::Tensor, taken, 0};
  }
  mismatch(corpus, "it has no input '" + input.name + "'");
}

void Inputs::checkShape(const Bucket &bucket, const Tensor &input,
                        const CorpusInput &stored) const {
  bool fits = input.shape.size() == stored.dims.size() + 1 &&
              stored.dims.size() <= maxRank &&
              copyFor(stored.dtype, input.dtype);
  for (size_t d = 0; fits && d < stored.dims.size(); ++d) {
    const CorpusInput::Dim &dim = stored.dims[d];
    int64_t extent =
        dim.symbol < 0 ? dim.extent : bucket.extent(corpus.dims[dim.symbol]);
    fits = input.shape[d + 1] == extent;
  }
  if (!fits)
    mismatch(corpus, "it stores input '" + input.name +
                         "' in another dtype or shape than the model takes");
}

std::vector<uint8_t> Inputs::assignBuckets() const {
  std::vector<uint8_t> bucketOf(corpus.size());
  std::string misfits;
  uint32_t count = 0;
  for (uint32_t u = 0; u < corpus.size(); ++u) {
    size_t b = 0;
    auto holds = [&](const Bucket &bucket) {
      for (size_t d = 0; d < corpus.dims.size(); ++d) {
        int64_t most = bucket.extent(corpus.dims[d]);
        if (most && corpus.extent(u, int(d)) > most)
          return false;
      }
      return true;
    };
    while (b < manifest.buckets.size() && !holds(manifest.buckets[b]))
      ++b;
    bucketOf[u] = uint8_t(b);
    if (b == manifest.buckets.size()) {
      misfits += (count ? ", " : "") + corpus.id(u);
      ++count;
    }
  }
  if (count)
    throw Error(Exit::BadInput, corpus.directory,
                std::to_string(count) +
                    " utterances are longer than every bucket: " + misfits,
                "recompile with --buckets-from or take them out of the corpus");
  return bucketOf;
}

void Inputs::clear(const Arena &arena, uint32_t bucket) const {
  for (const Binding &b : bindings[bucket])
    std::memset(arena.at(b.input->at.offset),
                b.source == Source::Utterance ? 0xff : 0, b.input->at.size);
}

void Inputs::put(const Arena &arena, const Binding &b, uint32_t slot,
                 uint32_t utterance, const char *data) const {
  const Tensor &input = *b.input;
  char *to = arena.at(input.at.offset) +
             slot * (input.at.size / uint64_t(input.shape[0]));
  if (b.source == Source::Utterance) {
    int64_t id = utterance;
    std::memcpy(to, &id, sizeof(id));
    return;
  }
  if (b.source == Source::Lengths) {
    int32_t extent = int32_t(corpus.extent(utterance, b.dim));
    copyFor(TTS_I32, input.dtype)(reinterpret_cast<const char *>(&extent), to,
                                  1);
    return;
  }
  const CorpusInput &stored = corpus.inputs[takenInputs[b.taken]];
  int64_t shape[maxRank];
  int rank = int(stored.dims.size());
  for (int d = 0; d < rank; ++d) {
    const CorpusInput::Dim &dim = stored.dims[size_t(d)];
    shape[d] =
        dim.symbol < 0 ? dim.extent : corpus.extent(utterance, dim.symbol);
  }
  CornerCopy{copyFor(stored.dtype, input.dtype),
             dtypeSize(stored.dtype),
             dtypeSize(input.dtype),
             shape,
             input.shape.data() + 1,
             rank}
      .run(data, to);
}

} // namespace tts::rt
