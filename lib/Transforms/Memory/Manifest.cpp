//===- Manifest.cpp - what the runtime knows by name ----------------------===//

#include "Emit.h"
#include "tts-runtime/Format.h"
#include "tts/Dialect/Tts/IR/Names.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace tts;
using namespace tts::memory;

namespace {
class ManifestBuilder {
public:
  ManifestBuilder(ModuleOp module, MutableArrayRef<Program> programs,
                  StorageTable &table)
      : module(module), b(module.getContext()), programs(programs),
        persistent(table.getPersistent()) {}

  DictionaryAttr build() {
    Fields fields = {named("buckets", buildBuckets()),
                     named("parameters", buildParameters()),
                     named("scalars", buildScalars()),
                     named("losses", buildLosses()),
                     named("outputs", buildOutputs())};
    if (auto starts = module->getAttrOfType<ArrayAttr>(kStageStartsAttr))
      fields.push_back(named("stages", buildStages(starts)));
    return b.getDictionaryAttr(fields);
  }

private:
  using Fields = SmallVector<NamedAttribute>;

  NamedAttribute named(StringRef name, Attribute value) {
    return b.getNamedAttr(name, value);
  }
  Attribute integer(int64_t value) { return b.getI64IntegerAttr(value); }

  StringRef getDType(Type type) {
    if (type.isF64())
      return "F64";
    if (type.isF32())
      return "F32";
    if (type.isBF16())
      return "BF16";
    if (type.isF16())
      return "F16";
    return type.isInteger(64) ? "I64" : "I32";
  }

  Fields tensor(StringRef name, RankedTensorType type, int64_t offset) {
    return tensor(name, type, type.getShape(), offset);
  }

  Fields tensor(StringRef name, RankedTensorType type,
                ArrayRef<int64_t> extents, int64_t offset) {
    SmallVector<Attribute> shape;
    for (int64_t size : extents)
      shape.push_back(integer(size));
    return {named("name", b.getStringAttr(name)),
            named("dtype", b.getStringAttr(getDType(type.getElementType()))),
            named("shape", b.getArrayAttr(shape)),
            named("offset", integer(offset)),
            named("size", integer(getBytes(type)))};
  }

  /// {offset, size} of a state of parameter `name`, or null.
  Attribute place(Role role, StringAttr name) {
    auto it = persistent.find({role, name});
    if (it == persistent.end())
      return b.getUnitAttr(); // JSON null
    Fields fields = {named("offset", integer(it->second->offset)),
                     named("size", integer(it->second->size))};
    noteShard(*it->second, fields);
    return b.getDictionaryAttr(fields);
  }

  void noteShard(const Storage &storage, Fields &fields) {
    if (storage.shardOf)
      fields.push_back(named("shard", b.getBoolAttr(true)));
  }

  /// {offset, size, dtype} of the half copy of parameter `name`, or nothing.
  Attribute buildHalfCopy(StringAttr name) {
    auto it = persistent.find({Role::HalfCopy, name});
    if (it == persistent.end())
      return {};
    Type element = it->second->type.getElementType();
    Fields fields = {named("dtype", b.getStringAttr(getDType(element))),
                     named("offset", integer(it->second->offset)),
                     named("size", integer(it->second->size))};
    noteShard(*it->second, fields);
    return b.getDictionaryAttr(fields);
  }

  /// By parameter: what the first program that has it says beside its name.
  llvm::DenseMap<StringAttr, DictionaryAttr> findArguments() {
    llvm::DenseMap<StringAttr, DictionaryAttr> arguments;
    for (Program &program : programs)
      for (unsigned i = 0; i < program.func.getNumArguments(); ++i)
        if (DictionaryAttr attributes = program.func.getArgAttrDict(i))
          if (auto name = attributes.getAs<StringAttr>(kParamAttr))
            arguments.try_emplace(name, attributes);
    return arguments;
  }

  Attribute buildInit(DictionaryAttr argument) {
    auto init = argument ? argument.getAs<InitAttr>(kInitAttr) : InitAttr();
    SmallVector<Attribute> args;
    if (init)
      for (double value : init.getArgs().asArrayRef())
        args.push_back(b.getF64FloatAttr(value));
    return b.getDictionaryAttr(
        {named("kind", b.getStringAttr(init ? init.getKind().getValue()
                                            : StringRef("zeros"))),
         named("args", b.getArrayAttr(args))});
  }

  Attribute buildStages(ArrayAttr starts) {
    auto slots = module->getAttrOfType<IntegerAttr>(kSlotsAttr);
    return b.getDictionaryAttr(
        {named("count", integer(int64_t(starts.size()) + 1)),
         named("index", module->getAttr(kStageAttr)),
         named("slots", integer(slots ? slots.getInt() : 1))});
  }

  /// Of a stage all of the model in one order, those of others by name only.
  ArrayAttr buildParameters() {
    auto arguments = findArguments();
    SmallVector<Attribute> list;
    auto all = module->getAttrOfType<ArrayAttr>(kAllParametersAttr);
    if (!all) {
      for (auto &[key, storage] : persistent)
        if (key.first == Role::Parameter)
          list.push_back(b.getDictionaryAttr(buildParameter(
              key.second, *storage, arguments.lookup(key.second))));
      return b.getArrayAttr(list);
    }
    for (auto parameter : all.getAsRange<ArrayAttr>()) {
      auto name = cast<StringAttr>(parameter[0]);
      auto argument = cast<DictionaryAttr>(parameter[3]);
      auto it = persistent.find({Role::Parameter, name});
      Fields fields =
          it != persistent.end()
              ? buildParameter(name, *it->second, argument)
              : buildElsewhere(name,
                               cast<RankedTensorType>(
                                   cast<TypeAttr>(parameter[1]).getValue()),
                               argument);
      fields.push_back(named("stage", parameter[2]));
      list.push_back(b.getDictionaryAttr(fields));
    }
    return b.getArrayAttr(list);
  }

  Fields buildElsewhere(StringAttr name, RankedTensorType type,
                        DictionaryAttr argument) {
    Fields fields = tensor(name, type, 0);
    llvm::erase_if(fields, [](NamedAttribute field) {
      return field.getName() == "offset" || field.getName() == "size";
    });
    fields.push_back(
        named("frozen", b.getBoolAttr(argument.contains(kFrozenAttr))));
    return fields;
  }

  Fields buildParameter(StringAttr name, const Storage &storage,
                        DictionaryAttr argument) {
    Fields fields = tensor(name, storage.type,
                           storage.shardOf ? storage.shardOf.asArrayRef()
                                           : storage.type.getShape(),
                           storage.offset);
    noteShard(storage, fields);
    fields.push_back(named(
        "frozen", b.getBoolAttr(argument && argument.contains(kFrozenAttr))));
    fields.push_back(named("init", buildInit(argument)));
    fields.push_back(named("gradient", place(Role::Gradient, name)));
    fields.push_back(named("moment1", place(Role::Moment1, name)));
    fields.push_back(named("moment2", place(Role::Moment2, name)));
    fields.push_back(named("ema", place(Role::Ema, name)));
    if (persistent.contains({Role::Next, name}))
      fields.push_back(named("next", place(Role::Next, name)));
    if (Attribute half = buildHalfCopy(name))
      fields.push_back(named("half_copy", half));
    return fields;
  }

  ArrayAttr buildScalars() {
    SmallVector<Attribute> list;
    for (auto &[key, storage] : persistent)
      if (key.first == Role::Scalar)
        list.push_back(b.getDictionaryAttr(
            tensor(key.second, storage->type, storage->offset)));
    return b.getArrayAttr(list);
  }

  ArrayAttr buildLosses() {
    llvm::MapVector<StringAttr, Attribute> losses;
    SmallVector<DictionaryAttr> roles;
    if (auto all = module->getAttrOfType<ArrayAttr>(kAllLossesAttr))
      llvm::append_range(roles, all.getAsRange<DictionaryAttr>());
    for (Program &program : programs)
      for (unsigned i = 0; i < program.func.getNumResults(); ++i)
        if (DictionaryAttr role = program.func.getResultAttrDict(i))
          roles.push_back(role);
    for (DictionaryAttr role : roles) {
      auto name = role.getAs<StringAttr>(kLossAttr);
      if (!name || losses.contains(name))
        continue;
      auto coefficient = role.getAs<FloatAttr>(kCoefficientAttr);
      losses[name] = b.getDictionaryAttr(
          {named("name", name),
           named("coefficient",
                 b.getF64FloatAttr(coefficient ? coefficient.getValueAsDouble()
                                               : 1.0))});
    }
    SmallVector<Attribute> list;
    for (auto &[name, loss] : losses)
      list.push_back(loss);
    return b.getArrayAttr(list);
  }

  /// The names of a tensor's dimensions in the model, before Specialize took
  /// them off; kept there in kDimsAttr.
  Attribute buildDims(DictionaryAttr argument) {
    SmallVector<Attribute> names;
    if (auto dims = argument.getAs<DimsAttr>(kDimsAttr))
      for (StringAttr name : dims.getNames())
        names.push_back(name);
    return b.getArrayAttr(names);
  }

  /// What the bucket's programs of an update and of evaluation read, or what
  /// infer reads: that comes from elsewhere than the corpus.
  ArrayAttr buildInputs(int64_t bucket, bool ofInfer) {
    llvm::MapVector<StringAttr, Attribute> inputs;
    for (Program &program : programs) {
      if (program.bucket != bucket ||
          (program.kind == TTS_PROGRAM_INFER) != ofInfer)
        continue;
      for (BlockArgument argument : program.func.getArguments()) {
        DictionaryAttr attributes =
            program.func.getArgAttrDict(argument.getArgNumber());
        auto name = attributes ? attributes.getAs<StringAttr>(kInputAttr)
                               : StringAttr();
        if (!name || inputs.contains(name))
          continue;
        Fields fields = tensor(name, cast<RankedTensorType>(argument.getType()),
                               program.places.lookup(argument).storage->offset);
        fields.push_back(named("dims", buildDims(attributes)));
        if (auto lengths = attributes.getAs<StringAttr>(kLengthsAttr))
          fields.push_back(named("lengths", lengths));
        inputs[name] = b.getDictionaryAttr(fields);
      }
    }
    SmallVector<Attribute> list;
    for (auto &[name, input] : inputs)
      list.push_back(input);
    return b.getArrayAttr(list);
  }

  ArrayAttr buildBuckets() {
    auto buckets = module->getAttrOfType<ArrayAttr>(kBucketsAttr);
    auto plan = module->getAttrOfType<PlanAttr>(kPlanAttr);
    SmallVector<Attribute> list;
    if (!buckets || !plan)
      return b.getArrayAttr(list);
    for (auto [index, bucket] :
         llvm::enumerate(buckets.getAsRange<BucketAttr>())) {
      Fields dims;
      for (auto [name, size] : llvm::zip(bucket.getNames(), bucket.getSizes()))
        dims.push_back(named(name, integer(size)));
      Fields fields = {
          named("dims", b.getDictionaryAttr(dims)),
          named("micro_batch", integer(plan.getMicroBatches()[index])),
          named("inputs", buildInputs(index, /*ofInfer=*/false))};
      if (ArrayAttr inputs = buildInputs(index, /*ofInfer=*/true);
          !inputs.empty())
        fields.push_back(named("infer_inputs", inputs));
      list.push_back(b.getDictionaryAttr(fields));
    }
    return b.getArrayAttr(list);
  }

  ArrayAttr buildOutputs() {
    SmallVector<Attribute> list;
    for (Program &program : programs) {
      if (program.kind != TTS_PROGRAM_EVAL && program.kind != TTS_PROGRAM_INFER)
        continue;
      func::FuncOp func = program.func;
      Operation *terminator = func.getBody().front().getTerminator();
      for (unsigned i = 0; i < func.getNumResults(); ++i) {
        auto name = func.getResultAttrOfType<StringAttr>(i, kOutputAttr);
        if (!name)
          continue;
        Value value = terminator->getOperand(i);
        Place place = program.place(value);
        Fields fields = tensor(name, cast<RankedTensorType>(value.getType()),
                               place.storage->offset + place.offset);
        DictionaryAttr attributes = func.getResultAttrDict(i);
        fields.push_back(named("bucket", integer(program.bucket)));
        fields.push_back(named("dims", buildDims(attributes)));
        if (program.kind == TTS_PROGRAM_INFER)
          fields.push_back(named("program", b.getStringAttr("infer")));
        if (auto lengths = attributes.getAs<StringAttr>(kLengthsAttr))
          fields.push_back(named("lengths", lengths));
        list.push_back(b.getDictionaryAttr(fields));
      }
    }
    return b.getArrayAttr(list);
  }

  ModuleOp module;
  Builder b;
  MutableArrayRef<Program> programs;
  llvm::MapVector<std::pair<Role, StringAttr>, Storage *> &persistent;
};
} // namespace

DictionaryAttr memory::buildManifest(ModuleOp module,
                                     MutableArrayRef<Program> programs,
                                     StorageTable &table) {
  return ManifestBuilder(module, programs, table).build();
}
