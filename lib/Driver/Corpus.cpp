//===- Corpus.cpp - reads the manifest of a corpus -----------------------===//

#include "Corpus.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace tts;

double Corpus::meanFrames() const {
  double frames = 0, count = 0;
  for (const Lengths &lengths : histogram) {
    frames += double(lengths.frames) * lengths.count;
    count += lengths.count;
  }
  return count > 0 ? frames / count : 0;
}

SmallVector<double> Corpus::shares(ArrayRef<Dims> buckets,
                                   int64_t &outside) const {
  SmallVector<double> counts(buckets.size(), 0);
  double all = 0;
  outside = 0;
  for (const Lengths &lengths : histogram) {
    auto holds = [&](const Dims &bucket) {
      auto most = [&](const char *name) {
        auto it = bucket.find(name);
        return it == bucket.end() ? INT64_MAX : it->second;
      };
      return lengths.text <= most("text") && lengths.frames <= most("frames");
    };
    auto it = find_if(buckets, holds);
    if (it == buckets.end()) {
      outside += lengths.count;
      continue;
    }
    counts[it - buckets.begin()] += lengths.count;
    all += lengths.count;
  }
  for (double &count : counts)
    count = all > 0 ? count / all : 1.0 / counts.size();
  return counts;
}

/// FNV-1a in 64 bits over the texts of the headers' checksums.
static std::string hashOf(const json::Object &manifest) {
  uint64_t hash = 0xcbf29ce484222325u;
  bool isKnown = false;
  const json::Object *splits = manifest.getObject("splits");
  for (StringRef name : {"train", "validation"}) {
    const json::Object *split = splits ? splits->getObject(name) : nullptr;
    const json::Array *crcs = split ? split->getArray("header_crc32") : nullptr;
    isKnown |= crcs && name == "train";
    for (const json::Value &crc : crcs ? *crcs : json::Array())
      for (unsigned char c : crc.getAsString().value_or(""))
        hash = (hash ^ c) * 0x100000001b3u;
  }
  return isKnown ? formatv("{0:x-16}", hash).str() : "";
}

Expected<Corpus> tts::readCorpus(StringRef directory) {
  SmallString<256> path(directory);
  sys::path::append(path, "manifest.json");
  auto damaged = [&](const Twine &what) {
    return badInput(path, what,
                    "prepare the corpus again with python -m tts.data prepare");
  };
  auto buffer = MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer)
    return badInput(path, buffer.getError().message(),
                    "give the directory that tts.data prepare wrote");
  auto value = json::parse((*buffer)->getBuffer());
  if (!value)
    return damaged(toString(value.takeError()));
  const json::Object *manifest = value->getAsObject();
  if (!manifest)
    return damaged("is no JSON object");

  Corpus corpus;
  corpus.featuresHash = manifest->getString("features_hash").value_or("").str();
  corpus.hash = hashOf(*manifest);
  const json::Array *buckets = manifest->getArray("suggested_buckets");
  if (!buckets || buckets->empty())
    return damaged("has no suggested_buckets");
  for (const json::Value &bucket : *buckets) {
    Corpus::Dims dims;
    if (const json::Object *object = bucket.getAsObject())
      for (const auto &[name, size] : *object)
        dims[name.str()] = size.getAsInteger().value_or(0);
    for (const auto &[name, size] : dims)
      if (size < 1)
        return damaged("has a bucket whose " + name + " is not positive");
    if (dims.empty())
      return damaged("has a bucket without dimensions");
    corpus.suggestedBuckets.push_back(std::move(dims));
  }
  const json::Object *splits = manifest->getObject("length_histogram");
  const json::Array *train = splits ? splits->getArray("train") : nullptr;
  if (!train)
    return damaged("has no length_histogram of the training split");
  for (const json::Value &row : *train) {
    const json::Array *numbers = row.getAsArray();
    if (!numbers || numbers->size() != 3)
      return damaged("has a row of length_histogram that is not [text, "
                     "frames, count]");
    auto at = [&](size_t i) {
      return (*numbers)[i].getAsInteger().value_or(0);
    };
    corpus.histogram.push_back({at(0), at(1), at(2)});
  }
  return corpus;
}
