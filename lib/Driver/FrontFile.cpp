//===- FrontFile.cpp - what the planner found, kept between runs ----------===//

#include "FrontFile.h"

#include "Compilation.h"
#include "SourceHash.h"
#include "mlir/AsmParser/AsmParser.h"
#include "tts/Target/Cpu/Libraries.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/TargetParser/Host.h"

using namespace mlir;
using namespace tts;
namespace json = llvm::json;
using json::Array;
using json::Object;
using json::ObjectMapper;

namespace {
/// The first key of a front's file; raised when its fields change.
constexpr StringLiteral kVersionKey = "tts_plan_front";
constexpr int64_t kVersion = 6;

template <typename Range> json::Value listJson(const Range &range) {
  return Array(range);
}

/// SmallVectors and arrays, which LLVM's mapper does not know.
template <typename Range>
bool mapList(ObjectMapper &mapper, StringLiteral key, Range &range) {
  std::vector<typename Range::value_type> list;
  if (!mapper.map(key, list))
    return false;
  if constexpr (std::is_same_v<Range, plan::ClassBytes>) {
    if (list.size() != range.size())
      return false;
    llvm::copy(list, range.begin());
  } else {
    range.assign(list.begin(), list.end());
  }
  return true;
}

json::Value groupJson(const PlanFront::Group &group) {
  const plan::JointSettings &s = group.settings;
  const Exchange &e = group.exchange;
  return Object{{"batch", s.batch},
                {"groups", s.groups},
                {"persistent_bytes", s.persistentBytes},
                {"overhead_bytes", s.overheadBytes},
                {"primitive_bytes", s.primitiveBytes},
                {"update_seconds", s.updateSeconds},
                {"ranks", e.ranks},
                {"all_reduce_bytes", e.allReduceBytes},
                {"all_reduce_seconds", e.allReduceSeconds},
                {"micro_batch_bytes", e.microBatchBytes},
                {"micro_batch_seconds", e.microBatchSeconds},
                {"buffer_bytes", e.bufferBytes}};
}

bool readGroup(const json::Value &value, PlanFront::Group &group,
               json::Path path) {
  plan::JointSettings &s = group.settings;
  Exchange &e = group.exchange;
  ObjectMapper mapper(value, path);
  return mapper && mapper.map("batch", s.batch) &&
         mapper.map("groups", s.groups) &&
         mapper.map("persistent_bytes", s.persistentBytes) &&
         mapper.map("overhead_bytes", s.overheadBytes) &&
         mapper.map("primitive_bytes", s.primitiveBytes) &&
         mapper.map("update_seconds", s.updateSeconds) &&
         mapper.map("ranks", e.ranks) &&
         mapper.map("all_reduce_bytes", e.allReduceBytes) &&
         mapper.map("all_reduce_seconds", e.allReduceSeconds) &&
         mapper.map("micro_batch_bytes", e.microBatchBytes) &&
         mapper.map("micro_batch_seconds", e.microBatchSeconds) &&
         mapper.map("buffer_bytes", e.bufferBytes);
}

json::Value choiceJson(const PlanFront::Choice &choice) {
  const ConsideredChoice &f = choice.figures;
  std::string plan;
  llvm::raw_string_ostream(plan) << choice.plan;
  return Object{{"plan", std::move(plan)},
                {"group", choice.estimate.group},
                {"least_bytes", choice.estimate.leastBytes},
                {"least_seconds", choice.estimate.leastSeconds},
                {"precision", f.precision},
                {"update_in_backward", f.updateInBackward},
                {"state_sharding", f.stateSharding},
                {"prefetch", f.prefetch},
                {"micro_batches", listJson(f.microBatches)},
                {"recomputed_parts", listJson(f.recomputedParts)},
                {"stored_values", listJson(f.storedValues)},
                {"remat", static_cast<int64_t>(f.remat)},
                {"peak_bytes", f.peakBytes},
                {"overhead_bytes", f.overheadBytes},
                {"classes", listJson(f.classes)},
                {"step_seconds", f.stepSeconds},
                {"lower_bound_bytes", f.lowerBoundBytes},
                {"micro_batch_seconds", listJson(f.microBatchSeconds)},
                {"exact", f.isExact}};
}

bool readChoice(const json::Value &value, PlanFront::Choice &choice,
                json::Path path, MLIRContext &context) {
  ConsideredChoice &f = choice.figures;
  std::string plan;
  int64_t remat = 0, group = 0;
  ObjectMapper mapper(value, path);
  bool isRead =
      mapper && mapper.map("plan", plan) && mapper.map("group", group) &&
      mapper.map("least_bytes", choice.estimate.leastBytes) &&
      mapper.map("least_seconds", choice.estimate.leastSeconds) &&
      mapper.map("precision", f.precision) &&
      mapper.map("update_in_backward", f.updateInBackward) &&
      mapper.map("state_sharding", f.stateSharding) &&
      mapper.map("prefetch", f.prefetch) &&
      mapList(mapper, "micro_batches", f.microBatches) &&
      mapList(mapper, "recomputed_parts", f.recomputedParts) &&
      mapList(mapper, "stored_values", f.storedValues) &&
      mapper.map("remat", remat) && mapper.map("peak_bytes", f.peakBytes) &&
      mapper.map("overhead_bytes", f.overheadBytes) &&
      mapList(mapper, "classes", f.classes) &&
      mapper.map("step_seconds", f.stepSeconds) &&
      mapper.map("lower_bound_bytes", f.lowerBoundBytes) &&
      mapList(mapper, "micro_batch_seconds", f.microBatchSeconds) &&
      mapper.map("exact", f.isExact);
  if (!isRead)
    return false;
  choice.estimate.group = group;
  f.remat = static_cast<ConsideredChoice::Remat>(remat);
  choice.plan = dyn_cast_or_null<PlanAttr>(parseAttribute(plan, &context));
  return static_cast<bool>(choice.plan);
}

/// The file's lists; false where something is missing or wrong.
bool readLists(const Object &object, PlanFront &front, MLIRContext &context) {
  json::Path::Root root;
  const Array *shares = object.getArray("shares");
  const Array *groups = object.getArray("groups");
  const Array *choices = object.getArray("choices");
  if (!shares || !groups || !choices)
    return false;
  for (const json::Value &share : *shares)
    front.shares.push_back(share.getAsNumber().value_or(0));
  for (const json::Value &group : *groups)
    if (!readGroup(group, front.groups.emplace_back(), root))
      return false;
  for (const json::Value &choice : *choices)
    if (!readChoice(choice, front.choices.emplace_back(), root, context) ||
        front.choices.back().estimate.group >= front.groups.size())
      return false;
  return true;
}
} // namespace

std::string tts::keyOfFront(ModuleOp module, const PlanRequest &request) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << getSourceHash() << "\n"
     << cpu::getMatmulLibraryVersion() << "\n"
     << llvm::sys::getHostCPUName() << "\n"
     << request.hardware.hash() << "\n"
     << request.microBatch.value_or(0) << " " << request.precision << " "
     << request.remat << " " << request.halfStorage << " "
     << request.optimizerInBackward << " " << request.threads << " "
     << request.ranks << " " << request.deterministic << " "
     << request.shardStates;
  for (double share : request.bucketShares)
    os << llvm::format(" %a", share);
  os << "\n";
  module->print(os, OpPrintingFlags().useLocalScope());
  return sha256(text);
}

llvm::Expected<PlanFront> tts::readFront(StringRef path, StringRef key,
                                         MLIRContext &context) {
  if (!llvm::sys::fs::exists(path))
    return PlanFront();
  auto foreign = [&](const Twine &what) {
    return badInput(path, what, "give another file to --plan-front");
  };
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer)
    return foreign(buffer.getError().message());
  llvm::Expected<json::Value> value = llvm::json::parse((*buffer)->getBuffer());
  const Object *object = value ? value->getAsObject() : nullptr;
  if (!object || !object->get(kVersionKey)) {
    llvm::consumeError(value.takeError());
    return foreign("is no front of plans");
  }
  PlanFront front;
  if (object->getInteger(kVersionKey) != kVersion ||
      object->getString("key") != key || !readLists(*object, front, context))
    return PlanFront(); // another model's, another compiler's, or cut: renewed
  return front;
}

std::string tts::frontJson(const PlanFront &front, StringRef key) {
  Array groups, choices;
  for (const PlanFront::Group &group : front.groups)
    groups.push_back(groupJson(group));
  for (const PlanFront::Choice &choice : front.choices)
    choices.push_back(choiceJson(choice));
  return llvm::formatv("{0:2}\n", json::Value(Object{
                                      {kVersionKey, kVersion},
                                      {"key", key},
                                      {"shares", listJson(front.shares)},
                                      {"groups", std::move(groups)},
                                      {"choices", std::move(choices)},
                                  }));
}
