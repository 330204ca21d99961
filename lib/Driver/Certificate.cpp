//===- Certificate.cpp - the plan as JSON --------------------------------===//

#include "PlanReport.h"

#include "tts-runtime/Format.h"
#include "tts/Dialect/Rt/IR/RtDialect.h"
#include "tts/Dialect/Tts/IR/Names.h"
#include "tts/Pipelines/StepMeasure.h"
#include "tts/Pipelines/WholeBatch.h"
#include "tts/Target/Cpu/Libraries.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/TargetParser/Host.h"
#include <numeric>

using namespace mlir;
using namespace tts;
using llvm::json::Array;
using llvm::json::Object;

namespace {
constexpr StringLiteral kProgramNames[] = TTS_PROGRAM_NAMES;

/// How much of forward a bucket's backward computes again.
StringRef bucketRematText(PlanAttr plan, unsigned bucket) {
  return plan.getRecompute(bucket).empty() ? "none" : "partial";
}

/// What a bucket keeps in half until backward, by name and result.
Object halfStorageJson(PlanAttr plan, unsigned bucket) {
  Array names;
  std::string type = "none";
  for (auto item :
       llvm::map_range(plan.getStore(bucket), llvm::CastTo<StoreAttr>)) {
    type = item.getType().isBF16() ? "bf16" : "fp16";
    std::string name = item.getOp().str();
    if (item.getResult())
      name += llvm::formatv("[{0}]", item.getResult());
    names.push_back(name);
  }
  return Object{{"type", type}, {"values", std::move(names)}};
}

/// How an update is cut follows from these: alike on all stages.
double bucketSeconds(const PlanResult &plan, const PlanRole &role,
                     int64_t bucket) {
  double seconds = role.measure.microBatchSeconds(bucket);
  if (plan.stages.count > 1)
    for (const PlanRole &other : plan.roles)
      seconds = std::max(seconds, other.measure.microBatchSeconds(bucket));
  return seconds;
}

Array bucketsJson(Compilation &compilation, const PlanRole &role) {
  const PlanResult &plan = compilation.getPlan();
  Array buckets;
  auto attributes =
      compilation.getModule()->getAttrOfType<ArrayAttr>(kBucketsAttr);
  for (auto [index, bucket] :
       llvm::enumerate(attributes.getAsRange<BucketAttr>())) {
    Object dims;
    for (auto [name, size] : llvm::zip(bucket.getNames(), bucket.getSizes()))
      dims.try_emplace(name.getValue(), size);
    buckets.push_back(Object{
        {"dims", std::move(dims)},
        {"micro_batch", role.plan.getMicroBatches()[index]},
        {"remat", bucketRematText(role.plan, index)},
        {"recompute_flops_fraction",
         plan.considered[role.taken].recomputedParts[index]},
        {"half_storage", halfStorageJson(role.plan, index)},
        {"share", plan.shares[index]},
        {"predicted_micro_batch_seconds", bucketSeconds(plan, role, index)},
    });
  }
  return buckets;
}

/// "persistent", "update", "forward[0]".
std::string programText(ArrayRef<rt::ProgramOp> programs, int64_t index) {
  if (index < 0)
    return "persistent";
  rt::ProgramOp program = programs[index];
  StringRef name = kProgramNames[program.getKind()];
  int64_t bucket = program.getBucket();
  std::string text =
      bucket < 0 ? name.str() : llvm::formatv("{0}[{1}]", name, bucket).str();
  return program.getSlot() ? text + "." + std::to_string(program.getSlot())
                           : text;
}

/// Where each program lies on the timeline.
Array programsJson(ModuleOp lowered) {
  SmallVector<rt::ProgramOp> programs(lowered.getOps<rt::ProgramOp>());
  SmallVector<plan::ProgramSpan> spans = getProgramSpans(lowered);
  Array array;
  for (auto [index, begin] : llvm::enumerate(plan::getTimelineStarts(spans)))
    array.push_back(Object{{"program", programText(programs, index)},
                           {"begin", begin},
                           {"entries", spans[index].entries}});
  return array;
}

/// Buffers in the table's order.
Array buffersJson(ModuleOp lowered) {
  SmallVector<rt::ProgramOp> programs(lowered.getOps<rt::ProgramOp>());
  SmallVector<int64_t> starts =
      plan::getTimelineStarts(getProgramSpans(lowered));
  Array array;
  for (auto buffer : lowered->getAttrOfType<ArrayAttr>(rt::kBuffersAttr)
                         .getAsRange<rt::BufferAttr>()) {
    Object object{
        {"name", buffer.getName().getValue()},
        {"loc", buffer.getLoc().getValue()},
        {"class", plan::className(buffer.getKlass())},
        {"program", programText(programs, buffer.getProgram())},
        {"offset", buffer.getOffset()},
        {"size", buffer.getSize()},
    };
    if (buffer.getProgram() >= 0) {
      object["begin"] = starts[buffer.getProgram()] + buffer.getFirstEntry();
      object["last_program"] = programText(programs, buffer.getLastProgram());
      object["end"] = starts[buffer.getLastProgram()] + buffer.getLastEntry();
    }
    array.push_back(std::move(object));
  }
  return array;
}

/// All classes of the contract, which sum to the peak.
Object classesJson(const plan::ClassBytes &bytes, int64_t unused,
                   int64_t overhead) {
  Object classes{{"unused", unused}, {"overhead", overhead}};
  for (auto [klass, count] : llvm::enumerate(bytes))
    classes[plan::className(klass)] = count;
  return classes;
}

Object classesJson(const PlanRole &role) {
  const plan::ClassBytes &bytes = role.measure.live.classes;
  int64_t used = std::accumulate(bytes.begin(), bytes.end(), int64_t(0));
  return classesJson(bytes, role.measure.arenaBytes - used, role.overheadBytes);
}

/// What the certificate says of one role, of which it has the table.
Object roleJson(Compilation &compilation, const PlanRole &role) {
  return Object{{"budget_bytes", role.budget},
                {"buckets", bucketsJson(compilation, role)},
                {"classes", classesJson(role)},
                {"peak_bytes", role.peakBytes()},
                {"overhead_bytes", role.overheadBytes},
                {"host_buffer_bytes", role.hostBufferBytes},
                {"arena_bytes", role.measure.arenaBytes},
                {"lower_bound_bytes", role.measure.live.most},
                {"programs", programsJson(*role.lowered)},
                {"buffers", buffersJson(*role.lowered)}};
}

/// What any of the ranks rounds otherwise.
Array changesOfNumerics(Compilation &compilation) {
  const PlanResult &plan = compilation.getPlan();
  std::vector<std::string> changes;
  auto add = [&](std::string text) {
    if (!text.empty() && !llvm::is_contained(changes, text))
      changes.push_back(std::move(text));
  };
  if (plan.plan.getPrecision() != "fp32")
    add("precision " + plan.plan.getPrecision().str());
  for (const PlanRole &role : plan.roles)
    for (unsigned index = 0; index < plan.shares.size(); ++index)
      add(halfStorageText(role.plan, index));
  for (const PlanRole &role : plan.roles)
    for (auto [index, microBatch] :
         llvm::enumerate(role.plan.getMicroBatches().asArrayRef()))
      if (microBatch < plan.batch)
        add(llvm::formatv("bucket {0}: gradients of micro-batches of {1} are "
                          "added up (rounding)",
                          index, microBatch));
  if (plan.exchange.ranks > 1)
    add(llvm::formatv("gradients of {0} ranks are added up (rounding)",
                      plan.exchange.ranks));
  return Array(changes);
}

std::string lrScaleOf(Compilation &compilation) {
  auto rule =
      compilation.getModule()->getAttrOfType<mlir::StringAttr>(kLrScaleAttr);
  return rule ? rule.str() : "none";
}

/// What the planner had to choose from: the report draws the front of it.
Array consideredJson(const PlanResult &plan) {
  Array array;
  for (auto [index, choice] : llvm::enumerate(plan.considered))
    array.push_back(Object{
        {"precision", choice.precision},
        {"update_in_backward", choice.updateInBackward},
        {"state_sharding", choice.stateSharding},
        {"prefetch", choice.prefetch},
        {"micro_batches", Array(choice.microBatches)},
        {"remat", rematText(choice.remat)},
        {"recompute_flops_fraction",
         *llvm::max_element(choice.recomputedParts)},
        {"values_in_half", *llvm::max_element(choice.storedValues)},
        {"peak_bytes", choice.peakBytes},
        {"classes", classesJson(choice.classes, choice.unusedBytes(),
                                choice.overheadBytes)},
        {"predicted_step_seconds", choice.stepSeconds},
        {"exact", choice.isExact},
        {"chosen", plan.fits && llvm::any_of(plan.roles,
                                             [&](const PlanRole &role) {
                                               return role.taken == index;
                                             })},
        {"on_front", !isDominated(plan, index)},
    });
  return array;
}
/// A number or text of JSON; null where there is none.
llvm::json::Value valueOf(Attribute attribute) {
  if (auto number = dyn_cast_or_null<IntegerAttr>(attribute))
    return number.getInt();
  if (auto number = dyn_cast_or_null<FloatAttr>(attribute))
    return number.getValueAsDouble();
  if (auto text = dyn_cast_or_null<mlir::StringAttr>(attribute))
    return text.getValue();
  return nullptr;
}

int64_t countParameters(ModuleOp lowered) {
  auto manifest = lowered->getAttrOfType<DictionaryAttr>(rt::kManifestAttr);
  int64_t count = 0;
  for (auto parameter :
       manifest.getAs<ArrayAttr>("parameters").getAsRange<DictionaryAttr>()) {
    int64_t elements = 1;
    for (auto size :
         parameter.getAs<ArrayAttr>("shape").getAsRange<IntegerAttr>())
      elements *= size.getInt();
    count += elements;
  }
  return count;
}

/// What a plan must not change: a run's last line has it again. Rates are those
/// of the model; `train` may be given others.
Object experimentJson(Compilation &compilation) {
  ModuleOp module = compilation.getModule();
  Object experiment{
      {"parameters", countParameters(*compilation.getPlan().role().lowered)},
      {"batch", getBatch(compilation)}};
  for (StringRef name :
       {"batch_frames", "lr", "warmup", "schedule", "weight_decay", "optimizer",
        "grad_clip", "features_hash", "corpus_hash"})
    experiment[name] = valueOf(module->getAttr(("tts." + name).str()));
  experiment["ema"] = valueOf(module->getAttr(kEmaDecayAttr));
  return experiment;
}
} // namespace

int64_t tts::getBatch(Compilation &compilation) {
  return compilation.getModule()
      ->getAttrOfType<IntegerAttr>(kBatchAttr)
      .getInt();
}

std::string tts::linkName(Compilation &compilation) {
  const PlanRequest &request = compilation.getRequest();
  const plan::Link *link =
      request.ranks > 1 ? request.hardware.linkOf(request.ranks) : nullptr;
  return link ? link->name : "none";
}

std::string tts::planJson(Compilation &compilation, StringRef executableHash) {
  PlanResult &plan = compilation.getPlan();
  const PlanRequest &request = compilation.getRequest();
  Object hashes{{"model", compilation.getModelHash()},
                {"hardware", request.hardware.hash()}};
  if (!executableHash.empty())
    hashes["executable"] = executableHash;
  Object certificate{
      {"version", 1},
      {"tool", kToolVersion},
      {"hashes", std::move(hashes)},
      {"hardware", request.hardware.name},
      {"smallest_budget_bytes", plan.smallestBudget},
      {"ranks", request.ranks},
      {"batch", getBatch(compilation)},
      {"batch_frames",
       valueOf(compilation.getModule()->getAttr(kBatchFramesAttr))},
      {"batch_per_rank", plan.batch},
      {"exchange",
       Object{
           {"link", linkName(compilation)},
           {"all_reduce_bytes", plan.exchange.allReduceBytes},
           {"predicted_all_reduce_seconds", plan.exchange.allReduceSeconds},
           {"micro_batch_bytes", plan.exchange.microBatchBytes},
           {"predicted_micro_batch_seconds", plan.exchange.microBatchSeconds},
           {"buffer_bytes", plan.exchange.bufferBytes}}},
      {"precision", plan.plan.getPrecision().getValue()},
      {"update_in_backward", plan.choice().updateInBackward},
      {"state_sharding", plan.choice().stateSharding},
      {"prefetch", plan.choice().prefetch},
      {"stages", plan.stages.count},
      {"lr_scale", lrScaleOf(compilation)},
      {"experiment", experimentJson(compilation)},
      {"changes_experiment", Array(compilation.getChanges())},
      {"changes_numerics", changesOfNumerics(compilation)},
      {"libraries", Object{{"onednn", cpu::getMatmulLibraryVersion()},
                           {"isa", llvm::sys::getHostCPUName()},
                           {"threads", request.threads}}},
      {"predicted_step_seconds", plan.stepSeconds},
      {"eager_bytes", plan.eagerBytes},
      {"considered", consideredJson(plan)},
  };
  for (auto &field : roleJson(compilation, plan.role()))
    certificate[field.first] = std::move(field.second);
  if (plan.roles.size() > 1) {
    Array roles;
    for (const PlanRole &role : plan.roles) {
      Object object = roleJson(compilation, role);
      object["ranks"] = Array(role.ranks);
      roles.push_back(std::move(object));
    }
    certificate["roles"] = std::move(roles);
    if (plan.stages.count > 1)
      certificate["pipeline_bubble"] = plan.stages.bubble;
  }
  return llvm::formatv("{0:2}\n", llvm::json::Value(std::move(certificate)));
}

/// Which table each rank runs.
static Attribute roleOfRank(Builder &b, const PlanResult &plan) {
  size_t ranks = 0;
  for (const PlanRole &role : plan.roles)
    ranks += role.ranks.size();
  SmallVector<Attribute> roles(ranks);
  for (auto [index, role] : llvm::enumerate(plan.roles))
    for (int64_t rank : role.ranks)
      roles[rank] = b.getI64IntegerAttr(index);
  return b.getArrayAttr(roles);
}

void tts::completeManifest(Compilation &compilation, size_t index) {
  const PlanResult &plan = compilation.getPlan();
  const PlanRole &role = plan.roles[index];
  ModuleOp lowered = *role.lowered;
  const PlanRequest &request = compilation.getRequest();
  Builder b(lowered.getContext());
  NamedAttrList manifest(
      lowered->getAttrOfType<DictionaryAttr>(rt::kManifestAttr));
  auto integer = [&](int64_t value) { return b.getI64IntegerAttr(value); };
  auto real = [&](double value) { return b.getF64FloatAttr(value); };
  auto ofModule = [&](StringRef name) { return lowered->getAttr(name); };
  /// Absent numbers are null, as the format says.
  auto orNull = [&](Attribute attribute) {
    return attribute ? attribute : Attribute(b.getUnitAttr());
  };

  manifest.set("version", integer(1));
  manifest.set("tool", b.getStringAttr(kToolVersion));
  manifest.set("batch", integer(getBatch(compilation)));
  if (Attribute frames = ofModule(kBatchFramesAttr))
    manifest.set("batch_frames", frames);
  manifest.set("threads", integer(request.threads));
  manifest.set("ranks", integer(request.ranks));
  if (request.deterministic)
    manifest.set("groups", integer(kFoldGroups));
  manifest.set("precision", plan.plan.getPrecision());
  manifest.set("update_in_backward",
               b.getBoolAttr(plan.choice().updateInBackward));
  manifest.set("state_sharding", b.getStringAttr(plan.choice().stateSharding));
  manifest.set("model_hash", b.getStringAttr(compilation.getModelHash()));
  manifest.set("hardware", b.getStringAttr(request.hardware.name));
  manifest.set("budget_bytes", integer(role.budget));
  manifest.set("peak_bytes", integer(role.peakBytes()));
  manifest.set("overhead_bytes", integer(role.overheadBytes));
  manifest.set("arena_bytes", integer(role.measure.arenaBytes));
  manifest.set("host_buffer_bytes", integer(role.hostBufferBytes));
  if (plan.roles.size() > 1) {
    manifest.set("role", integer(index));
    manifest.set("role_of_rank", roleOfRank(b, plan));
    lowered->setAttr(rt::kRoleAttr, integer(index));
    lowered->setAttr(rt::kRolesAttr, integer(plan.roles.size()));
  }
  if (Attribute hash = ofModule(kFeaturesHashAttr))
    manifest.set("features_hash", hash);

  if (Operation *op = findWholeBatchOp(compilation.getModule()))
    manifest.set("whole_batch", b.getStringAttr(getStableName(op->getLoc())));

  NamedAttrList optimizer;
  Attribute kind = ofModule(kOptimizerAttr);
  optimizer.set("kind", kind ? kind : Attribute(b.getStringAttr("adamw")));
  // Vaswani et al., arXiv:1706.03762, §5.3: the Noam schedule's own settings.
  optimizer.set("beta1", real(0.9));
  optimizer.set("beta2", real(0.98));
  optimizer.set("epsilon", real(1e-9));
  optimizer.set("grad_clip", orNull(ofModule(kGradClipAttr)));
  optimizer.set("ema", orNull(ofModule(kEmaDecayAttr)));
  manifest.set("optimizer", optimizer.getDictionary(b.getContext()));

  NamedAttrList defaults;
  for (StringRef name : {"lr", "warmup", "schedule", "weight_decay"})
    if (Attribute value = ofModule(("tts." + name).str()))
      defaults.set(name, value);
  manifest.set("defaults", defaults.getDictionary(b.getContext()));

  SmallVector<Attribute> buckets;
  auto list = cast<ArrayAttr>(manifest.get("buckets"));
  for (auto [number, bucket] :
       llvm::enumerate(list.getAsRange<DictionaryAttr>())) {
    NamedAttrList fields(bucket);
    // What was measured may not decide how an update is cut then.
    if (!request.deterministic)
      fields.set("predicted_micro_batch_seconds",
                 real(bucketSeconds(plan, role, number)));
    buckets.push_back(fields.getDictionary(b.getContext()));
  }
  manifest.set("buckets", b.getArrayAttr(buckets));
  lowered->setAttr(rt::kManifestAttr, manifest.getDictionary(b.getContext()));
}
