//===- MixedPrecision.cpp - the programs of a model in mixed precision ----===//
//
// Forward and backward are rewritten as a pair: what forward stashes is in the
// half type where all that reads it in backward is.
//
//===----------------------------------------------------------------------===//

#include "MixedPrecision.h"
#include "HalfProgram.h"
#include "tts/Dialect/Tts/IR/Names.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace tts;
using namespace tts::precision;

FloatType precision::getHalfType(MLIRContext *context, StringRef precision) {
  if (precision == "bf16")
    return BFloat16Type::get(context);
  if (precision == "fp16")
    return Float16Type::get(context);
  return {};
}

namespace {
/// The programs of one bucket that compute with parameters.
struct Bucket {
  func::FuncOp forward, backward;
  SmallVector<func::FuncOp> others; ///< eval, infer
};

class Narrower {
public:
  Narrower(ModuleOp module, FloatType half) : module(module), half(half) {
    if (auto names = module->getAttrOfType<ArrayAttr>(kHalfCopiesAttr))
      for (auto name : names.getAsRange<StringAttr>())
        copies.insert(name);
  }

  llvm::SetVector<StringAttr> run() {
    for (auto &[index, bucket] : collect()) {
      for (func::FuncOp program : bucket.others)
        narrowAlone(program);
      if (bucket.forward && bucket.backward)
        narrowPair(bucket.forward, bucket.backward);
      else if (bucket.forward)
        narrowAlone(bucket.forward);
    }
    return std::move(parameters);
  }

private:
  llvm::MapVector<int64_t, Bucket> collect() {
    llvm::MapVector<int64_t, Bucket> buckets;
    for (auto func : module.getOps<func::FuncOp>()) {
      auto name = func->getAttrOfType<StringAttr>(kProgramAttr);
      auto index = func->getAttrOfType<IntegerAttr>(kBucketAttr);
      if (!name)
        continue;
      Bucket &bucket = buckets[index ? index.getInt() : -1];
      if (name == "forward")
        bucket.forward = func;
      else if (name == "backward")
        bucket.backward = func;
      else if (name == "eval" || name == "infer")
        bucket.others.push_back(func);
    }
    return buckets;
  }

  void finish(HalfProgram &program) {
    program.finish();
    parameters.insert_range(program.getHalfParameters());
  }

  void narrowAlone(func::FuncOp func) {
    HalfProgram program(func, half, copies);
    program.rewrite(Wishes(func, [&](unsigned result) {
      return !func.getResultAttr(result, kStashAttr);
    }));
    finish(program);
  }

  /// Arguments of backward by the name of the stash.
  static llvm::DenseMap<Attribute, BlockArgument>
  findStash(func::FuncOp backward) {
    llvm::DenseMap<Attribute, BlockArgument> stash;
    for (BlockArgument argument : backward.getArguments())
      if (Attribute name =
              backward.getArgAttr(argument.getArgNumber(), kStashAttr))
        stash[name] = argument;
    return stash;
  }

  void narrowPair(func::FuncOp forwardFunc, func::FuncOp backwardFunc) {
    auto stash = findStash(backwardFunc);
    auto argumentOf = [&](unsigned result) {
      Attribute name = forwardFunc.getResultAttr(result, kStashAttr);
      return name ? stash.lookup(name) : BlockArgument();
    };
    Wishes backwardWishes(backwardFunc, [](unsigned) { return true; });
    Wishes forwardWishes(forwardFunc, [&](unsigned result) {
      BlockArgument argument = argumentOf(result);
      return !argument || backwardWishes.wantsFull(argument);
    });
    HalfProgram forward(forwardFunc, half, copies);
    forward.rewrite(forwardWishes);
    for (OpOperand &operand : forward.getTerminator()->getOpOperands())
      if (BlockArgument argument = argumentOf(operand.getOperandNumber()))
        argument.setType(operand.get().getType());
    HalfProgram backward(backwardFunc, half, copies);
    backward.rewrite(backwardWishes);
    for (OpOperand &operand : forward.getTerminator()->getOpOperands())
      if (BlockArgument argument = argumentOf(operand.getOperandNumber()))
        narrowStash(forward, operand, argument);
    finish(forward);
    finish(backward);
  }

  /// The cast moves from backward to forward where nothing else reads the wide
  /// value there.
  void narrowStash(HalfProgram &forward, OpOperand &returned,
                   BlockArgument argument) {
    if (!argument.hasOneUse())
      return;
    auto cast = dyn_cast<CastOp>(*argument.user_begin());
    if (!cast || cast.getType().getElementType() != half)
      return;
    returned.set(forward.toHalf(returned.get()));
    argument.setType(returned.get().getType());
    cast.replaceAllUsesWith(Value(argument));
    cast.erase();
  }

  ModuleOp module;
  FloatType half;
  llvm::StringSet<> copies;
  llvm::SetVector<StringAttr> parameters;
};
} // namespace

llvm::SetVector<StringAttr> precision::narrowPrograms(ModuleOp module,
                                                      FloatType half) {
  return Narrower(module, half).run();
}

/// The result that is the new value of parameter `name`, or nothing.
static std::optional<unsigned> findUpdated(func::FuncOp update,
                                           StringAttr name) {
  for (unsigned i = 0; i < update.getNumResults(); ++i)
    if (update.getResultAttr(i, kParamAttr) == name)
      return i;
  return std::nullopt;
}

static SmallVector<func::FuncOp> getUpdates(ModuleOp module) {
  SmallVector<func::FuncOp> updates;
  for (auto func : module.getOps<func::FuncOp>())
    if (auto program = func->getAttrOfType<StringAttr>(kProgramAttr);
        program && program == "update")
      updates.push_back(func);
  return updates;
}

void precision::addLossScale(ModuleOp module) {
  for (func::FuncOp update : getUpdates(module)) {
    SmallVector<ClipFactorOp> clips(update.getOps<ClipFactorOp>());
    if (clips.empty())
      continue;
    Builder b(module.getContext());
    Location loc =
        NameLoc::get(b.getStringAttr("inverse_loss_scale"), update.getLoc());
    auto role = b.getDictionaryAttr(
        b.getNamedAttr(kScalarAttr, b.getStringAttr("inverse_loss_scale")));
    unsigned index = update.getNumArguments();
    LogicalResult inserted =
        update.insertArgument(index, clips[0].getSum().getType(), role, loc);
    assert(succeeded(inserted));
    (void)inserted;
    for (ClipFactorOp clip : clips)
      clip.getUnscaleMutable().assign(update.getArgument(index));
  }
}

void precision::addHalfCopies(ModuleOp module, FloatType half) {
  auto names = module->getAttrOfType<ArrayAttr>(kHalfCopiesAttr);
  if (!names)
    return;
  for (func::FuncOp update : getUpdates(module)) {
    Operation *terminator = update.getBody().front().getTerminator();
    OpBuilder builder(terminator);
    for (auto name : names.getAsRange<StringAttr>()) {
      std::optional<unsigned> updated = findUpdated(update, name);
      if (!updated) // frozen
        continue;
      Value value = terminator->getOperand(*updated);
      auto type = cast<RankedTensorType>(value.getType()).clone(half);
      Location loc = NameLoc::get(
          builder.getStringAttr(name.getValue() + ".half"), value.getLoc());
      Value copy = CastOp::create(builder, loc, type, value);
      unsigned index = update.getNumResults();
      terminator->insertOperands(index, copy);
      LogicalResult inserted = update.insertResult(
          index, type,
          builder.getDictionaryAttr(builder.getNamedAttr(kHalfCopyAttr, name)));
      assert(succeeded(inserted));
      (void)inserted;
    }
  }
}
