//===- Storage.cpp - which values share bytes -----------------------------===//

#include "Storage.h"
#include "tts-runtime/Format.h"
#include "tts/Dialect/Rt/IR/RtDialect.h"
#include "tts/Dialect/Tts/IR/Names.h"

using namespace mlir;
using namespace tts;
using namespace tts::memory;

int64_t memory::getBytes(RankedTensorType type) {
  unsigned bits = type.getElementTypeBitWidth();
  return type.getNumElements() * ((bits + 7) / 8);
}

bool memory::isView(Operation *op) { return isa<rt::AliasOp, rt::SliceOp>(op); }

bool memory::isEntry(Operation *op) {
  return isa<rt::LaunchOp, rt::GemmOp, rt::Conv1dOp, rt::AllReduceOp,
             rt::ShardOp, rt::ReduceScatterOp, rt::AllGatherOp, rt::SendOp,
             rt::ReceiveOp>(op);
}

Value memory::getOverwritten(Operation *op, unsigned index) {
  if (auto gemm = dyn_cast<rt::GemmOp>(op))
    return gemm.getC();
  if (auto conv = dyn_cast<rt::Conv1dOp>(op))
    return conv.getC();
  if (auto reduce = dyn_cast<rt::AllReduceOp>(op))
    return reduce.getValues()[index];
  if (auto scatter = dyn_cast<rt::ReduceScatterOp>(op))
    return scatter.getAccumulators().empty() ? scatter.getValues()[index]
                                             : scatter.getAccumulators()[index];
  if (auto launch = dyn_cast<rt::LaunchOp>(op)) {
    int64_t operand = launch.getTied()[index];
    return operand < 0 ? Value() : launch.getOperands()[operand];
  }
  return {};
}

std::pair<Role, StringAttr> memory::getRole(DictionaryAttr attributes) {
  if (!attributes)
    return {Role::None, {}};
  static const std::pair<StringLiteral, Role> roles[] = {
      {kParamAttr, Role::Parameter},   {kGradientAttr, Role::Gradient},
      {kPartialAttr, Role::Partial},   {kMoment1Attr, Role::Moment1},
      {kMoment2Attr, Role::Moment2},   {kEmaAttr, Role::Ema},
      {kHalfCopyAttr, Role::HalfCopy}, {kScalarAttr, Role::Scalar},
      {kInputAttr, Role::Input},       {kStashAttr, Role::Stash},
      {kOutputAttr, Role::Output},     {kNextAttr, Role::Next}};
  for (auto &[attribute, role] : roles)
    if (auto name = attributes.getAs<StringAttr>(attribute))
      return {role, name};
  // Losses and denominators are scalars that the runtime reads by these names.
  auto prefixed = [&](StringRef prefix, StringAttr name) {
    return StringAttr::get(name.getContext(), prefix + "." + name.getValue());
  };
  if (auto name = attributes.getAs<StringAttr>(kLossAttr))
    return {Role::Scalar, prefixed("loss_sum", name)};
  if (auto name = attributes.getAs<StringAttr>(kDenominatorAttr))
    return {Role::Scalar, prefixed("denominator", name)};
  return {Role::None, {}};
}

/// The source position of a location, for people.
static std::string getSource(Location loc) {
  if (auto name = dyn_cast<NameLoc>(loc))
    return getSource(name.getChildLoc());
  if (auto file = dyn_cast<FileLineColLoc>(loc))
    return getStableName(file);
  if (auto fused = dyn_cast<FusedLoc>(loc))
    for (Location part : fused.getLocations()) {
      std::string source = getSource(part);
      if (!source.empty())
        return source;
    }
  return "";
}

Storage *StorageTable::create(Location loc, RankedTensorType type) {
  Storage &storage = storages.emplace_back();
  storage.name = getStableName(loc);
  storage.loc = getSource(loc);
  storage.size = getBytes(type);
  storage.type = type;
  return &storage;
}

Storage *StorageTable::getBound(Program &program, Role role, StringAttr name,
                                RankedTensorType type, Location loc) {
  Storage *&storage =
      role == Role::Stash
          ? stashes[{program.bucket, name}]
          : persistent.insert({{role, name}, nullptr}).first->second;
  if (!storage) {
    storage = create(loc, type);
    storage->name = name.str();
    storage->role = role;
  }
  // A batch tensor serves every bucket: as large as the largest.
  storage->size = std::max(storage->size, getBytes(type));
  return storage;
}

LogicalResult StorageTable::assignArguments(Program &program) {
  for (BlockArgument argument : program.func.getArguments()) {
    DictionaryAttr attributes =
        program.func.getArgAttrDict(argument.getArgNumber());
    auto [role, name] = getRole(attributes);
    if (role == Role::None || role == Role::Output)
      return program.func.emitError()
             << "argument #" << argument.getArgNumber()
             << " of a program is neither a state, an input, a scalar nor a "
                "stash";
    Storage *storage =
        getBound(program, role, name,
                 cast<RankedTensorType>(argument.getType()), argument.getLoc());
    if (auto whole = attributes.getAs<DenseI64ArrayAttr>(kShardOfAttr))
      storage->shardOf = whole;
    program.places[argument] = {storage, 0};
  }
  return success();
}

/// Collectives beside which other entries run, and sums that the runtime may
/// begin while backward still does: their messages share bytes with nothing but
/// each other's, since one thread makes one collective after the other.
static bool runsBeside(Program &program, Operation *op) {
  if (op->hasAttr(rt::kAheadAttr))
    return true;
  return isa<rt::AllReduceOp>(op) && program.kind == TTS_PROGRAM_UPDATE &&
         llvm::all_of(op->getOperands(), [&](Value value) {
           return program.places.lookup(value).storage->role == Role::Gradient;
         });
}

void StorageTable::assignOp(Program &program, Operation *op) {
  if (auto slice = dyn_cast<rt::SliceOp>(op)) {
    auto type = cast<RankedTensorType>(slice.getX().getType());
    Place place = program.places.lookup(slice.getX());
    place.offset += slice.getFirst() * (getBytes(type) / type.getDimSize(0));
    program.places[slice.getY()] = place;
    return;
  }
  if (auto alias = dyn_cast<rt::AliasOp>(op)) {
    program.places[alias.getY()] = program.places.lookup(alias.getX());
    return;
  }
  for (OpResult result : op->getResults()) {
    Value overwritten = getOverwritten(op, result.getResultNumber());
    program.places[result] =
        overwritten ? program.places.lookup(overwritten)
                    : Place{create(op->getLoc(),
                                   cast<RankedTensorType>(result.getType())),
                            0};
  }
  // Where the sums go elsewhere, the values are used up all the same.
  if (auto scatter = dyn_cast<rt::ReduceScatterOp>(op))
    llvm::append_range(program.overwrites[op], scatter.getValues());
  if (auto bytes = op->getAttrOfType<IntegerAttr>(rt::kScratchAttr);
      bytes && bytes.getInt() > 0) {
    auto type = RankedTensorType::get({bytes.getInt()},
                                      IntegerType::get(op->getContext(), 8));
    if (runsBeside(program, op)) {
      auto name = StringAttr::get(op->getContext(), "messages");
      program.scratch[op] =
          getBound(program, Role::Messages, name, type, op->getLoc());
      return;
    }
    if (isa<rt::SendOp>(op)) {
      // A message may be under way when the next program sends.
      auto name = StringAttr::get(op->getContext(),
                                  "outbox." + Twine(program.numSends++));
      program.scratch[op] =
          getBound(program, Role::Messages, name, type, op->getLoc());
      return;
    }
    Storage *scratch = create(op->getLoc(), type);
    scratch->isScratch = true;
    scratch->isMessages =
        isa<rt::AllReduceOp, rt::ReduceScatterOp, rt::AllGatherOp>(op);
    program.scratch[op] = scratch;
  }
}

LogicalResult StorageTable::bindResults(Program &program) {
  Operation *terminator = program.func.getBody().front().getTerminator();
  llvm::SmallPtrSet<Storage *, 16> taken;
  llvm::DenseMap<Storage *, SmallVector<Value>> valuesIn;
  for (auto &[value, place] : program.places)
    valuesIn[place.storage].push_back(value);
  for (OpOperand &operand : terminator->getOpOperands()) {
    unsigned index = operand.getOperandNumber();
    auto [role, name] = getRole(program.func.getResultAttrDict(index));
    Place place = program.places.lookup(operand.get());
    auto type = cast<RankedTensorType>(operand.get().getType());
    auto copyError = [&](const Twine &why) {
      return program.func.emitError() << "result #" << index << " ("
                                      << (name ? name.getValue() : "unnamed")
                                      << ") would need a copy: " << why;
    };
    if (role == Role::None)
      return program.func.emitError()
             << "result #" << index << " of a program has no role";
    if (role == Role::Output) {
      if (!place.storage->isPersistent() && place.storage->role == Role::None)
        place.storage->role = Role::Output;
      continue;
    }
    Storage *target =
        getBound(program, role, name, type, operand.get().getLoc());
    if (place.storage == target) // updated in place
      continue;
    if (place.storage->role != Role::None || place.offset != 0 ||
        !taken.insert(place.storage).second)
      return copyError("its value is another tensor's storage");
    SmallVector<Value> moved = std::move(valuesIn[place.storage]);
    for (Value old : valuesIn.lookup(target))
      for (Value value : moved) {
        Operation *writer = value.getDefiningOp();
        if (llvm::is_contained(old.getUsers(), writer))
          return copyError("what makes it reads the old value");
        if (isEntry(writer) && !old.use_empty())
          program.overwrites[writer].push_back(old);
      }
    for (Value value : moved)
      program.places[value].storage = target;
    valuesIn.erase(place.storage);
    valuesIn[target].append(moved);
  }
  return success();
}

LogicalResult StorageTable::assign(Program &program) {
  if (failed(assignArguments(program)))
    return failure();
  for (Operation &op : program.func.getBody().front().without_terminator())
    assignOp(program, &op);
  return bindResults(program);
}
