//===- Corpus.cpp - reads the index of a corpus --------------------------===//
//
// A shard is believed only after every tensor of every utterance in it has been
// found with the dtype, rank and extents the manifest promises.
//
//===----------------------------------------------------------------------===//

#include "Runtime/IO/Corpus.h"
#include "Runtime/Abi/Error.h"
#include "Runtime/IO/Safetensors.h"
#include "Runtime/Train/Random.h"
#include <malloc.h>
#include <nlohmann/json.hpp>
#include <unordered_map>

namespace tts::rt {

using Json = nlohmann::json;

namespace {

constexpr uint64_t maxManifest = 1'000'000'000;

[[noreturn]] void bad(const std::string &place, const std::string &what) {
  throw Error(Exit::BadInput, place, what,
              "run `python -m tts.data prepare` again");
}

std::vector<std::string> splitAtCommas(const std::string &text) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin < text.size();) {
    size_t comma = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, comma - begin));
    begin = comma + 1;
  }
  return parts;
}

} // namespace

Corpus::Corpus(const std::string &directory) : directory(directory) {
  train.name = "train";
  validation.name = "validation";
  std::vector<std::string> files[2];
  readManifest(files);
  for (Split *split : {&train, &validation}) {
    split->first = size();
    for (const std::string &file : files[split == &validation])
      readShard(file, *split);
    split->end = size();
  }
  if (train.size() == 0)
    bad(directory, "the train split has no utterances");
  idHash = hashKey(0, idText);
  malloc_trim(0); // give the headers' memory back before the arena comes
}

void Corpus::readManifest(std::vector<std::string> (&files)[2]) {
  std::string path = directory + "/manifest.json";
  std::string text = readWholeFile(path, maxManifest);
  try {
    Json json = Json::parse(text);
    if (json.at("version").get<int>() != 1)
      bad(path, "version " + json["version"].dump() + " is not 1");
    featuresHash = json.value("features_hash", std::string());
    for (const auto &[name, entry] : json.at("inputs").items()) {
      CorpusInput input;
      input.name = name;
      auto dtype = dtypeFromName(entry.at("dtype").get<std::string>());
      if (!dtype)
        bad(path, "input '" + name + "' has an unknown dtype");
      input.dtype = *dtype;
      for (const Json &extent : entry.at("dims")) {
        CorpusInput::Dim d;
        if (extent.is_number()) {
          d.extent = extent.get<int64_t>();
        } else {
          d.symbol = dim(extent.get<std::string>());
          if (d.symbol < 0) {
            d.symbol = int(dims.size());
            dims.push_back(extent.get<std::string>());
          }
        }
        input.dims.push_back(d);
      }
      inputs.push_back(std::move(input));
    }
    const Json &splits = json.at("splits");
    files[0] = splits.at("train").at("files").get<std::vector<std::string>>();
    if (splits.contains("validation"))
      files[1] =
          splits["validation"].at("files").get<std::vector<std::string>>();
  } catch (const Json::exception &e) {
    bad(path, std::string("cannot be read (") + e.what() + ")");
  }
  if (dims.empty())
    bad(path, "no input has a named dim");
  frames = dim("frames") >= 0 ? dim("frames") : int(dims.size()) - 1;
}

void Corpus::readShard(const std::string &name, Split &split) {
  File file = File::openToRead(directory + "/" + name);
  SafetensorsHeader header = readSafetensorsHeader(file);
  std::unordered_map<std::string, const StoredTensor *> byName;
  for (const StoredTensor &tensor : header.tensors)
    byName[tensor.name] = &tensor;
  std::vector<std::string> ids = splitAtCommas(header.metadata["ids"]);
  if (ids.empty() && !header.tensors.empty())
    bad(file.path(), "its metadata lists no ids");

  uint16_t shard = uint16_t(shards.size());
  for (const std::string &id : ids) {
    std::vector<int32_t> own(dims.size(), -1);
    for (const CorpusInput &input : inputs) {
      auto found = byName.find(id + "/" + input.name);
      if (found == byName.end())
        bad(file.path(), "utterance '" + id + "' has no '" + input.name + "'");
      const StoredTensor &tensor = *found->second;
      bool fits = tensor.dtype == input.dtype &&
                  tensor.shape.size() == input.dims.size();
      for (size_t d = 0; fits && d < input.dims.size(); ++d) {
        int symbol = input.dims[d].symbol;
        int64_t extent = tensor.shape[d];
        if (symbol < 0)
          fits = extent == input.dims[d].extent;
        else if (own[symbol] < 0)
          own[symbol] = int32_t(extent);
        else
          fits = own[symbol] == extent;
      }
      if (!fits)
        bad(file.path(), "'" + tensor.name +
                             "' does not have the dtype and extents of the "
                             "manifest");
      offsets.push_back(tensor.offset);
    }
    extents.insert(extents.end(), own.begin(), own.end());
    shardOf.push_back(shard);
    idOffsets.push_back(uint32_t(idText.size()));
    idText.append(id.c_str(), id.size() + 1);
  }
  split.shardSizes.push_back(uint32_t(ids.size()));
  shards.push_back(std::move(file));
}

std::string Corpus::id(uint32_t utterance) const {
  return idText.c_str() + idOffsets[utterance];
}

uint32_t Corpus::find(const std::string &wanted) const {
  uint32_t u = 0;
  while (u < size() && wanted != idText.c_str() + idOffsets[u])
    ++u;
  return u;
}

int Corpus::dim(const std::string &name) const {
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i] == name)
      return int(i);
  return -1;
}

uint64_t Corpus::inputBytes(uint32_t utterance,
                            const CorpusInput &input) const {
  uint64_t bytes = dtypeSize(input.dtype);
  for (const CorpusInput::Dim &d : input.dims)
    bytes *= uint64_t(d.symbol < 0 ? d.extent : extent(utterance, d.symbol));
  return bytes;
}

void Corpus::read(uint32_t utterance, size_t input, void *data) const {
  uint64_t bytes = inputBytes(utterance, inputs[input]);
  shards[shardOf[utterance]].readAt(
      data, bytes, offsets[size_t(utterance) * inputs.size() + input]);
  readBytes += bytes;
}

} // namespace tts::rt
