//===- Manifest.cpp - parses and checks the manifest ---------------------===//
//
// nlohmann-json reads the text; what is missing or does not fit the arena is
// an error that names the key.
//
//===----------------------------------------------------------------------===//

#include "Runtime/Abi/Manifest.h"
#include "Runtime/Abi/Error.h"
#include <nlohmann/json.hpp>

namespace tts::rt {

using Json = nlohmann::json;

namespace {

[[noreturn]] void damaged(const std::string &what) {
  throw Error(Exit::Refused, "step table's manifest", what,
              "recompile the model with this version of tts-compile");
}

Slice readSlice(const Json &json, uint64_t arenaBytes, const std::string &owner,
                uint64_t alignment = TTS_ARENA_ALIGNMENT) {
  Slice slice{json.at("offset").get<uint64_t>(),
              json.at("size").get<uint64_t>(), json.value("shard", false)};
  if (slice.offset % alignment != 0)
    damaged(owner + " is not aligned to " + std::to_string(alignment));
  if (slice.offset > arenaBytes || slice.size > arenaBytes - slice.offset)
    damaged(owner + " reaches outside the arena");
  return slice;
}

/// Bytes of a slice that holds all of a tensor, or a rank's shard of it.
uint64_t bytesOf(const Tensor &tensor, TtsDType dtype, bool isShard,
                 int ranks) {
  uint64_t elements = uint64_t(tensor.elements());
  return dtypeSize(dtype) *
         (isShard ? shardElements(elements, ranks) : elements);
}

Tensor readTensor(const Json &json, uint64_t arenaBytes,
                  const std::string &kind, int ranks = 1) {
  Tensor tensor;
  tensor.name = json.at("name").get<std::string>();
  std::string owner = kind + " '" + tensor.name + "'";
  auto dtype = dtypeFromName(json.at("dtype").get<std::string>());
  if (!dtype)
    damaged(owner + " has the unknown dtype " + json.at("dtype").dump());
  tensor.dtype = *dtype;
  tensor.shape = json.at("shape").get<std::vector<int64_t>>();
  tensor.dims = json.value("dims", std::vector<std::string>());
  tensor.lengths = json.value("lengths", std::string());
  if (!tensor.dims.empty() && tensor.dims.size() != tensor.shape.size())
    damaged(owner + " has another number of dims than its shape");
  for (int64_t extent : tensor.shape)
    if (extent < 0)
      damaged(owner + " has a negative extent");
  if (kind == "parameter" && !json.contains("offset"))
    return tensor; // of another stage
  // An output may be a part of a buffer, anything else begins one.
  tensor.at = readSlice(json, arenaBytes, owner,
                        kind == "output" ? dtypeSize(tensor.dtype)
                                         : TTS_ARENA_ALIGNMENT);
  if (bytesOf(tensor, tensor.dtype, tensor.at.isShard, ranks) != tensor.at.size)
    damaged(owner + " does not have the size of its shape");
  return tensor;
}

/// A parameter's gradient, moment or EMA: null, or a slice as long as the value
/// or as its shard.
Slice readState(const Json &json, const char *key, const Tensor &value,
                uint64_t arenaBytes, int ranks) {
  if (!json.contains(key) || json[key].is_null())
    return {};
  std::string owner = std::string(key) + " of '" + value.name + "'";
  Slice slice = readSlice(json[key], arenaBytes, owner);
  if (slice.size != bytesOf(value, value.dtype, slice.isShard, ranks))
    damaged(owner + " does not have the size of its parameter");
  return slice;
}

/// The copy that programs of mixed precision read.
void readHalfCopy(const Json &json, Parameter &p, uint64_t arenaBytes,
                  int ranks) {
  if (!json.contains("half_copy"))
    return;
  std::string owner = "half copy of '" + p.value.name + "'";
  p.halfCopy = readSlice(json["half_copy"], arenaBytes, owner);
  auto dtype = dtypeFromName(json["half_copy"].at("dtype").get<std::string>());
  if (!dtype || (*dtype != TTS_BF16 && *dtype != TTS_F16))
    damaged(owner + " is of no half type");
  p.halfDtype = *dtype;
  if (p.value.dtype != TTS_F32 ||
      p.halfCopy.size !=
          bytesOf(p.value, p.halfDtype, p.halfCopy.isShard, ranks))
    damaged(owner + " does not have half the size of its parameter");
}

Parameter readParameter(const Json &json, uint64_t arenaBytes, int ranks,
                        const Stages &stages) {
  Parameter p;
  p.value = readTensor(json, arenaBytes, "parameter", ranks);
  p.stage = json.value("stage", stages.index);
  p.isElsewhere = !json.contains("offset");
  if (p.stage < 0 || p.stage >= stages.count ||
      (p.isElsewhere && p.stage == stages.index))
    damaged("parameter '" + p.value.name + "' is on no stage");
  p.frozen = json.value("frozen", false);
  if (json.contains("init") && !json["init"].is_null()) {
    p.init.kind = json["init"].at("kind").get<std::string>();
    p.init.args = json["init"].value("args", std::vector<double>());
  }
  p.gradient = readState(json, "gradient", p.value, arenaBytes, ranks);
  p.moment1 = readState(json, "moment1", p.value, arenaBytes, ranks);
  p.moment2 = readState(json, "moment2", p.value, arenaBytes, ranks);
  p.ema = readState(json, "ema", p.value, arenaBytes, ranks);
  p.next = readState(json, "next", p.value, arenaBytes, ranks);
  readHalfCopy(json, p, arenaBytes, ranks);
  return p;
}

Bucket readBucket(const Json &json, uint64_t arenaBytes) {
  Bucket bucket;
  for (const auto &[name, extent] : json.at("dims").items())
    bucket.dims.emplace_back(name, extent.get<int64_t>());
  bucket.microBatch = json.at("micro_batch").get<int64_t>();
  bucket.seconds = json.value("predicted_micro_batch_seconds", 0.0);
  if (bucket.microBatch < 1)
    damaged("a bucket has a micro-batch below 1");
  auto readInputs = [&](const Json &list, std::vector<Tensor> &inputs) {
    for (const Json &input : list) {
      Tensor tensor = readTensor(input, arenaBytes, "input");
      if (tensor.shape.empty() || tensor.shape[0] != bucket.microBatch)
        damaged("input '" + tensor.name +
                "' does not start with the micro-batch");
      inputs.push_back(std::move(tensor));
    }
  };
  readInputs(json.at("inputs"), bucket.inputs);
  readInputs(json.value("infer_inputs", Json::array()), bucket.inferInputs);
  return bucket;
}

Stages readStages(const Json &json, int ranks) {
  Stages s{json.at("count").get<int>(), json.at("index").get<int>(),
           json.at("slots").get<int>()};
  if (s.count < 1 || s.index < 0 || s.index >= s.count || s.slots < 1 ||
      ranks % s.count != 0)
    damaged("its stages are not those of " + std::to_string(ranks) + " ranks");
  return s;
}

Optimizer readOptimizer(const Json &json) {
  Optimizer o;
  o.beta1 = json.value("beta1", o.beta1);
  o.beta2 = json.value("beta2", o.beta2);
  o.epsilon = json.value("epsilon", o.epsilon);
  if (json.contains("ema") && json["ema"].is_number())
    o.ema = json["ema"].get<double>();
  return o;
}

Defaults readDefaults(const Json &json) {
  Defaults d;
  d.lr = json.value("lr", d.lr);
  d.weightDecay = json.value("weight_decay", d.weightDecay);
  d.warmup = json.value("warmup", d.warmup);
  d.schedule = json.value("schedule", d.schedule);
  return d;
}

} // namespace

int64_t Tensor::elements() const {
  int64_t n = 1;
  for (int64_t extent : shape)
    n *= extent;
  return n;
}

int64_t Bucket::extent(const std::string &dim) const {
  for (const auto &[name, extent] : dims)
    if (name == dim)
      return extent;
  return 0;
}

Manifest::Manifest(std::string_view text, uint64_t arenaBytes, int rank)
    : rank(rank) {
  try {
    Json json = Json::parse(text);
    if (json.at("version").get<int>() != 1)
      damaged("version " + json["version"].dump() + " is not 1");
    batch = json.at("batch").get<int64_t>();
    batchFrames = json.value("batch_frames", int64_t(0));
    threads = json.at("threads").get<int>();
    ranks = json.value("ranks", 1);
    if (batchFrames < 0 || batch < 1 || threads < 1 || ranks < 1)
      damaged("batch, threads and ranks must be at least 1");
    roleOfRank = json.value("role_of_rank", std::vector<uint32_t>());
    if (json.contains("stages"))
      stages = readStages(json["stages"], ranks);
    groups = json.value("groups", 1);
    if (groups != 1 && (groups != 4 || groups % ranks != 0))
      damaged("its groups are neither 1 nor 4 that the ranks share evenly");
    featuresHash = json.value("features_hash", std::string());
    wholeBatch = json.value("whole_batch", std::string());
    updateInBackward = json.value("update_in_backward", false);
    budgetBytes = json.value("budget_bytes", uint64_t(0));
    peakBytes = json.value("peak_bytes", uint64_t(0));
    overheadBytes = json.value("overhead_bytes", uint64_t(0));
    hostBufferBytes = json.value("host_buffer_bytes", uint64_t(0));
    if (json.contains("optimizer"))
      optimizer = readOptimizer(json["optimizer"]);
    if (json.contains("defaults"))
      defaults = readDefaults(json["defaults"]);
    for (const Json &bucket : json.at("buckets"))
      buckets.push_back(readBucket(bucket, arenaBytes));
    for (const Json &parameter : json.at("parameters"))
      parameters.push_back(readParameter(parameter, arenaBytes, ranks, stages));
    for (const Json &scalar : json.at("scalars"))
      scalars.push_back(readTensor(scalar, arenaBytes, "scalar"));
    for (const Json &loss : json.at("losses"))
      losses.push_back(
          {loss.at("name").get<std::string>(), loss.value("coefficient", 1.0)});
    for (const Json &output : json.value("outputs", Json::array()))
      outputs.push_back({output.at("bucket").get<uint32_t>(),
                         output.value("program", "eval") == "infer",
                         readTensor(output, arenaBytes, "output")});
  } catch (const Json::exception &e) {
    damaged(e.what());
  }
  if (stages.count > 1 && (hasShards() || groups > 1 || updateInBackward))
    damaged(
        "stages have neither shards, nor groups, nor an update in backward");
  for (const Output &output : outputs)
    if (output.bucket >= buckets.size())
      damaged("output '" + output.tensor.name + "' has no bucket");
}

bool Manifest::hasShardedGradients() const {
  return std::any_of(parameters.begin(), parameters.end(),
                     [](const Parameter &p) { return p.gradient.isShard; });
}

bool Manifest::hasShardedParameters() const {
  return std::any_of(parameters.begin(), parameters.end(),
                     [](const Parameter &p) { return p.value.at.isShard; });
}

bool Manifest::hasShards() const {
  return std::any_of(parameters.begin(), parameters.end(),
                     [](const Parameter &p) {
                       return p.value.at.isShard || p.moment1.isShard ||
                              p.moment2.isShard || p.ema.isShard;
                     });
}

const Tensor *Manifest::scalar(const std::string &name) const {
  for (const Tensor &scalar : scalars)
    if (scalar.name == name)
      return &scalar;
  return nullptr;
}

} // namespace tts::rt
