//===- Requests.cpp - reads, checks and places requests ------------------===//

#include "Runtime/Train/Requests.h"
#include "Runtime/Abi/Error.h"
#include <cstring>

namespace tts::rt {

namespace {

[[noreturn]] void refuse(const std::string &path, const std::string &id,
                         const std::string &wrong, const std::string &todo) {
  throw Error(Exit::BadInput, path, "request '" + id + "' " + wrong, todo);
}

std::string shapeText(const std::vector<int64_t> &shape) {
  std::string text = "[";
  for (int64_t extent : shape)
    text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  return text + "]";
}

/// The stored tensors of one request, by input.
using Stored = std::map<std::string, const StoredTensor *>;

/// Takes the extents of named dims from a tensor; fixed ones must be equal.
void takeExtents(const std::string &path, const Tensor &input,
                 const StoredTensor &stored, Request &request) {
  auto wrong = [&](const std::string &what) {
    refuse(path, request.id,
           "gives '" + input.name + "' as " + shapeText(stored.shape) + ": " +
               what,
           "write it as the model's input without its batch dimension");
  };
  if (stored.shape.size() + 1 != input.shape.size())
    wrong("it has " + std::to_string(input.shape.size() - 1) + " dims");
  for (size_t d = 0; d < stored.shape.size(); ++d) {
    std::string dim = input.dims.empty() ? "_" : input.dims[d + 1];
    if (dim == "_") {
      if (stored.shape[d] != input.shape[d + 1])
        wrong("dim " + std::to_string(d) + " is " +
              std::to_string(input.shape[d + 1]));
      continue;
    }
    auto [known, isNew] = request.extents.emplace(dim, stored.shape[d]);
    if (!isNew && known->second != stored.shape[d])
      wrong("another input says that '" + dim + "' is " +
            std::to_string(known->second));
    if (stored.shape[d] < 1)
      wrong("it is empty");
  }
}

template <typename T> bool isFloat(const T &tensor) {
  return tensor.dtype == TTS_F32 || tensor.dtype == TTS_F64;
}

Request readRequest(const File &file, const std::string &id, Stored stored,
                    const Bucket &model) {
  Request request;
  request.id = id;
  for (const Tensor &input : model.inferInputs) {
    std::vector<char> &data = request.inputs.emplace_back();
    if (!input.lengths.empty())
      continue;
    auto found = stored.find(input.name);
    if (found == stored.end())
      refuse(file.path(), id, "lacks '" + input.name + "'",
             "give every input of the model's infer program");
    const StoredTensor &tensor = *found->second;
    takeExtents(file.path(), input, tensor, request);
    if (tensor.dtype != input.dtype && !(isFloat(tensor) && isFloat(input)))
      refuse(file.path(), id,
             "gives '" + input.name + "' with another dtype than " +
                 dtypeName(input.dtype),
             std::string("store it as ") + dtypeName(input.dtype));
    uint64_t bytes = dtypeSize(input.dtype);
    for (int64_t extent : tensor.shape)
      bytes *= uint64_t(extent);
    data.resize(bytes);
    readTensorAs(file, tensor, input.dtype, data.data());
    stored.erase(found);
  }
  if (!stored.empty())
    refuse(file.path(), id, "gives '" + stored.begin()->first + "'",
           "the model's infer program has no such input");
  return request;
}

/// The first bucket that holds it.
void chooseBucket(const std::string &path, const Manifest &manifest,
                  Request &request) {
  for (uint32_t b = 0; b < manifest.buckets.size(); ++b)
    if (holds(manifest.buckets[b], request)) {
      request.bucket = b;
      return;
    }
  for (auto [dim, extent] : request.extents) {
    int64_t most = 0;
    for (const Bucket &bucket : manifest.buckets)
      most = std::max(most, bucket.extent(dim));
    if (extent > most)
      refuse(path, request.id,
             "is too long: " + dim + " " + std::to_string(extent) +
                 ", the largest bucket has " + std::to_string(most),
             "shorten or split it, or compile with a larger --bucket");
  }
  refuse(path, request.id, "fits no bucket",
         "compile with a --bucket that holds it");
}

/// Copies a dense tensor into the corner of one with extents `full`.
const char *place(const char *from, const std::vector<int64_t> &shape,
                  const std::vector<int64_t> &full, uint64_t elementSize,
                  size_t dim, char *to) {
  if (dim == shape.size()) {
    std::memcpy(to, from, elementSize);
    return from + elementSize;
  }
  uint64_t step = elementSize;
  for (size_t d = dim + 1; d < full.size(); ++d)
    step *= uint64_t(full[d]);
  for (int64_t i = 0; i < shape[dim]; ++i)
    from =
        place(from, shape, full, elementSize, dim + 1, to + uint64_t(i) * step);
  return from;
}

} // namespace

bool holds(const Bucket &bucket, const Request &request) {
  for (auto [dim, extent] : request.extents)
    if (bucket.extent(dim) < extent)
      return false;
  return true;
}

std::vector<Request> readRequests(const std::string &path,
                                  const Manifest &manifest) {
  File file = File::openToRead(path);
  SafetensorsHeader header = readSafetensorsHeader(file);
  const std::string &features = header.metadata["features_hash"];
  if (!features.empty() && !manifest.featuresHash.empty() &&
      features != manifest.featuresHash)
    throw Error(Exit::BadInput, path,
                "it was made for other features than the model",
                "use the corpus that the model was trained on");
  std::map<std::string, Stored> byId;
  for (const StoredTensor &tensor : header.tensors) {
    size_t slash = tensor.name.rfind('/');
    if (slash == std::string::npos || slash == 0)
      throw Error(Exit::BadInput, path,
                  "tensor '" + tensor.name + "' names no request",
                  "name tensors <request>/<input>");
    byId[tensor.name.substr(0, slash)][tensor.name.substr(slash + 1)] = &tensor;
  }
  if (byId.empty())
    throw Error(Exit::BadInput, path, "it has no request",
                "name tensors <request>/<input>");
  std::vector<Request> requests;
  for (auto &[id, stored] : byId) {
    requests.push_back(readRequest(file, id, stored, manifest.buckets[0]));
    chooseBucket(path, manifest, requests.back());
  }
  return requests;
}

void fillInputs(const Bucket &bucket, const std::vector<Request *> &requests,
                const Arena &arena) {
  for (size_t i = 0; i < bucket.inferInputs.size(); ++i) {
    const Tensor &input = bucket.inferInputs[i];
    char *to = arena.at(input.at.offset);
    std::memset(to, 0, input.at.size);
    uint64_t slot = input.at.size / uint64_t(input.shape[0]);
    std::vector<int64_t> full(input.shape.begin() + 1, input.shape.end());
    for (size_t r = 0; r < requests.size(); ++r, to += slot) {
      const Request &request = *requests[r];
      if (!input.lengths.empty()) {
        auto extent = int32_t(request.extents.at(input.lengths));
        std::memcpy(to, &extent, sizeof(extent));
        continue;
      }
      std::vector<int64_t> shape = full;
      for (size_t d = 0; d < shape.size() && !input.dims.empty(); ++d)
        if (input.dims[d + 1] != "_")
          shape[d] = request.extents.at(input.dims[d + 1]);
      place(request.inputs[i].data(), shape, full, dtypeSize(input.dtype), 0,
            to);
    }
  }
}

} // namespace tts::rt
