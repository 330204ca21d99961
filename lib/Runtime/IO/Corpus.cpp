//===- Corpus.cpp - reads the index of a corpus --------------------------===//
//
// A shard is believed only after every tensor of every utterance in it has been
// found with the dtype, rank and extents the manifest promises.
//
//===----------------------------------------------------------------------===//

#include "Runtime/IO/Corpus.h"
#include "Runtime/Abi/Error.h"
#include "Runtime/IO/Crc32.h"
#include "Runtime/IO/Safetensors.h"
#include "Runtime/Train/Random.h"
#include <algorithm>
#include <malloc.h>
#include <nlohmann/json.hpp>
#include <unordered_map>

namespace tts::rt {

using Json = nlohmann::json;

namespace {

constexpr uint64_t maxManifest = 1'000'000'000;

[[noreturn]] void bad(const std::string &place, const std::string &what) {
  throw Error(Exit::BadInput, place, what,
              "restore it, or run `python -m tts.data prepare` again");
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

/// FNV-1a in 64 bits over the texts of the headers' checksums; docs/corpus.md.
std::string contentHash(const Split &train, const Split &validation) {
  if (train.headers.empty())
    return "";
  uint64_t hash = 0xcbf29ce484222325u;
  for (const Split *split : {&train, &validation})
    for (const std::string &crc : split->headers)
      for (unsigned char c : crc)
        hash = (hash ^ c) * 0x100000001b3u;
  return hexText(uint32_t(hash >> 32)) + hexText(uint32_t(hash));
}

Split splitOf(const std::string &name, const Json &json) {
  Split split;
  split.name = name;
  split.files = json.at("files").get<std::vector<std::string>>();
  split.headers = json.value("header_crc32", std::vector<std::string>());
  return split;
}

uint32_t crcOfHeader(const File &file) {
  uint64_t length = 0; // has been checked by readSafetensorsHeader
  file.readAt(&length, 8, 0);
  std::string text(length, '\0');
  file.readAt(text.data(), length, 8);
  return crc32(text.data(), length, crc32(&length, 8));
}

/// The checksums of a shard's tensors by name, from its metadata; they stand
/// there in the order of the file.
std::unordered_map<std::string, uint32_t> crcsOf(const File &file,
                                                 SafetensorsHeader &header) {
  std::unordered_map<std::string, uint32_t> crcs;
  std::vector<std::string> texts = splitAtCommas(header.metadata["crc32"]);
  if (texts.empty())
    return crcs;
  std::vector<const StoredTensor *> order;
  for (const StoredTensor &tensor : header.tensors)
    order.push_back(&tensor);
  std::sort(order.begin(), order.end(), [](auto *a, auto *b) {
    return std::make_pair(a->offset, a->size) <
           std::make_pair(b->offset, b->size);
  });
  if (texts.size() != order.size())
    bad(file.path(), "its metadata has " + std::to_string(texts.size()) +
                         " checksums for " + std::to_string(order.size()) +
                         " tensors");
  for (size_t i = 0; i < order.size(); ++i)
    crcs[order[i]->name] =
        uint32_t(std::strtoul(texts[i].c_str(), nullptr, 16));
  return crcs;
}

} // namespace

Corpus::Corpus(const std::string &directory, const std::string &evaluated)
    : directory(directory) {
  std::vector<Split> others;
  validation.name = evaluated;
  readManifest(others);
  for (Split *split : {&train, &validation}) {
    split->first = size();
    for (size_t i = 0; i < split->files.size(); ++i)
      readShard(i, *split);
    split->end = size();
  }
  if (train.size() == 0)
    bad(directory, "the train split has no utterances");
  refuseSharedIds(others);
  idHash = hashKey(0, idText);
  hash = contentHash(train, validation);
  for (Split *split : {&train, &validation}) {
    for (const std::string &crc : split->headers)
      idHash = hashKey(idHash, crc);
    split->files = split->headers = {};
  }
  malloc_trim(0); // give the headers' memory back before the arena comes
}

/// `others` are the splits that are neither trained on nor validated with.
void Corpus::readManifest(std::vector<Split> &others) {
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
    train = splitOf("train", json.at("splits").at("train"));
    if (validation.name != "validation" &&
        !json["splits"].contains(validation.name))
      bad(path, "it has no split '" + validation.name + "'");
    for (const auto &[name, split] : json["splits"].items())
      if (name == validation.name)
        validation = splitOf(name, split);
      else if (name != train.name)
        others.push_back(splitOf(name, split));
  } catch (const Json::exception &e) {
    bad(path, std::string("cannot be read (") + e.what() + ")");
  }
  if (dims.empty())
    bad(path, "no input has a named dim");
  frames = dim("frames") >= 0 ? dim("frames") : int(dims.size()) - 1;
}

/// An utterance trained on may be in no other split, whatever lists it there.
void Corpus::refuseSharedIds(const std::vector<Split> &others) const {
  std::unordered_map<std::string, const char *> homes;
  std::string shared;
  auto add = [&](const std::string &id, const std::string &split) {
    auto [home, isNew] = homes.try_emplace(id, split.c_str());
    if (!isNew)
      shared += (shared.empty() ? "" : ", ") + id + " (" + home->second +
                " and " + split + ")";
  };
  for (uint32_t u = 0; u < size(); ++u)
    add(id(u), u < train.end ? train.name : validation.name);
  for (const Split &split : others)
    for (const std::string &name : split.files) {
      std::string path = directory + "/" + name;
      if (!exists(path)) // it may well be kept elsewhere
        continue;
      SafetensorsHeader header = readSafetensorsHeader(File::openToRead(path));
      for (const std::string &id : splitAtCommas(header.metadata["ids"]))
        add(id, split.name);
    }
  if (!shared.empty())
    bad(directory, "utterances are listed twice: " + shared);
}

void Corpus::readShard(size_t number, Split &split) {
  const std::string &name = split.files[number];
  File file = File::openToRead(directory + "/" + name);
  SafetensorsHeader header = readSafetensorsHeader(file);
  std::string home = header.metadata["split"];
  if (!home.empty() && home != split.name)
    bad(file.path(), "it belongs to the split '" + home +
                         "', the manifest lists it under '" + split.name + "'");
  if (!split.headers.empty()) {
    std::string crc = hexText(crcOfHeader(file));
    if (number >= split.headers.size() || split.headers[number] != crc)
      bad(file.path(), "its header is not the one that the manifest was "
                       "written with (CRC-32 " +
                           crc + ")");
  }
  auto crcOf = crcsOf(file, header);
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
      if (!crcOf.empty())
        crcs.push_back(crcOf[tensor.name]);
    }
    extents.insert(extents.end(), own.begin(), own.end());
    shardOf.push_back(shard);
    idOffsets.push_back(uint32_t(idText.size()));
    idText.append(id.c_str(), id.size() + 1);
  }
  if (!crcs.empty() && crcs.size() != offsets.size())
    bad(file.path(), "it has no checksums, but other shards have");
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
  size_t at = size_t(utterance) * inputs.size() + input;
  const File &shard = shards[shardOf[utterance]];
  shard.readAt(data, bytes, offsets[at]);
  readBytes += bytes;
  if (!crcs.empty() && crc32(data, bytes) != crcs[at])
    bad(shard.path(), "'" + id(utterance) + "/" + inputs[input].name +
                          "' is not what was prepared: its CRC-32 is " +
                          hexText(crc32(data, bytes)) + ", its header says " +
                          hexText(crcs[at]));
}

} // namespace tts::rt
