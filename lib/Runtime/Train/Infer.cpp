//===- Infer.cpp - requests through the infer program --------------------===//
//
// Buckets ascend and so do requests that move on: one pass over the buckets
// serves all.
//
//===----------------------------------------------------------------------===//

#include "Runtime/Train/Infer.h"
#include "Runtime/Abi/Error.h"
#include "Runtime/Train/Checkpoint.h"
#include "Runtime/Train/Dump.h"
#include "Runtime/Train/Requests.h"
#include "Runtime/Train/Weights.h"
#include <cstdio>
#include <cstring>

namespace tts::rt {

namespace {

/// An output of one request, dense.
struct Result {
  std::vector<int64_t> shape;
  std::vector<char> data;
};

class Inference {
public:
  Inference(const Options &options, Model &model)
      : model(model), requests(readRequests(options.infer, model.manifest)),
        results(requests.size()) {}

  void run() {
    for (uint32_t b = 0; b < model.manifest.buckets.size(); ++b)
      runBucket(b);
  }

  void write(const std::string &path) const {
    SafetensorsLayout layout;
    for (size_t r = 0; r < requests.size(); ++r)
      for (auto &[output, result] : results[r])
        layout.add(requests[r].id + "/" + output->name, output->dtype,
                   result.shape, result.data.data());
    layout.close();
    File file = File::openToWrite(path);
    layout.writeTo(file);
    file.syncAndClose();
    std::printf("wrote %s (%zu requests)\n", path.c_str(), requests.size());
  }

private:
  void runBucket(uint32_t b) {
    const Bucket &bucket = model.manifest.buckets[b];
    std::vector<Request *> part;
    auto flush = [&] {
      if (part.empty())
        return;
      fillInputs(bucket, part, model.arena);
      model.run(TTS_PROGRAM_INFER, b);
      for (size_t slot = 0; slot < part.size(); ++slot)
        if (!moveOn(*part[slot], slot))
          collect(*part[slot], slot);
      part.clear();
    };
    for (Request &request : requests) {
      if (request.bucket != b)
        continue;
      part.push_back(&request);
      if (int64_t(part.size()) == bucket.microBatch)
        flush();
    }
    flush();
  }

  template <typename Each> void forOutputs(uint32_t bucket, Each each) const {
    for (const Output &output : model.manifest.outputs)
      if (output.ofInfer && output.bucket == bucket)
        each(output.tensor);
  }

  /// The extent along a dim that an output gives this slot.
  int64_t wanted(const Tensor &lengths, size_t slot) const {
    int32_t extent = 0;
    std::memcpy(&extent,
                model.arena.at(lengths.at.offset) + slot * sizeof(extent),
                sizeof(extent));
    return std::max<int64_t>(extent, 0);
  }

  /// Sends a request that wants more than its bucket has to the next larger
  /// one, if there is one.
  bool moveOn(Request &request, size_t slot) const {
    const std::vector<Bucket> &buckets = model.manifest.buckets;
    uint32_t from = request.bucket;
    forOutputs(from, [&](const Tensor &output) {
      const std::string &dim = output.lengths;
      if (dim.empty() || wanted(output, slot) <= buckets[from].extent(dim))
        return;
      for (uint32_t b = from + 1; b < buckets.size(); ++b)
        if (request.bucket == from && holds(buckets[b], request) &&
            buckets[b].extent(dim) > buckets[from].extent(dim))
          request.bucket = b;
    });
    return request.bucket != from;
  }

  void collect(Request &request, size_t slot) {
    const Bucket &bucket = model.manifest.buckets[request.bucket];
    forOutputs(request.bucket, [&](const Tensor &output) {
      const std::string &dim = output.lengths;
      if (dim.empty())
        return;
      int64_t frames = wanted(output, slot), most = bucket.extent(dim);
      if (frames > most)
        std::fprintf(stderr,
                     "warning: request '%s' wants %lld %s, the largest bucket "
                     "has %lld: the rest is cut\n",
                     request.id.c_str(), (long long)frames, dim.c_str(),
                     (long long)most);
      request.extents[dim] = std::min(frames, most);
    });
    auto &own = results[size_t(&request - requests.data())];
    forOutputs(request.bucket, [&](const Tensor &output) {
      Result result;
      result.shape.assign(output.shape.begin() + 1, output.shape.end());
      std::vector<int64_t> full = result.shape;
      for (size_t d = 0; d < full.size() && !output.dims.empty(); ++d)
        if (auto known = request.extents.find(output.dims[d + 1]);
            known != request.extents.end())
          result.shape[d] = known->second;
      uint64_t bytes = output.at.size / uint64_t(output.shape[0]);
      appendCorner(model.arena.at(output.at.offset) + slot * bytes, full,
                   result.shape, dtypeSize(output.dtype), 0, result.data);
      own.emplace_back(&output, std::move(result));
    });
  }

  Model &model;
  std::vector<Request> requests;
  std::vector<std::vector<std::pair<const Tensor *, Result>>> results;
};

void checkInfers(const Model &model) {
  for (uint32_t b = 0; b < model.manifest.buckets.size(); ++b)
    if (!model.has(TTS_PROGRAM_INFER, b))
      throw Error(Exit::BadUsage, "--infer",
                  "the model was compiled without an infer program",
                  "write the model with one and compile it again");
}

} // namespace

void runInference(const Options &options, const void *blob,
                  const TtsKernel *kernels) {
  Model model(blob, 0, kernels);
  checkInfers(model);
  Inference inference(options, model);
  std::string weights = options.initFrom;
  if (weights.empty())
    weights = findCheckpoint(options.resumeFrom.empty() ? options.checkpointDir
                                                        : options.resumeFrom) +
              "/model.safetensors";
  loadWeights(model.manifest, model.arena, weights);
  inference.run();
  inference.write(options.dumpOutputs);
}

} // namespace tts::rt
