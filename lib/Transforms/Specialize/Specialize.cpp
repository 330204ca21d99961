//===- Specialize.cpp - one program per bucket, static shapes ------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tts/Dialect/Tts/IR/Names.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"
#include "tts/Dialect/Tts/IR/UpdateInBackward.h"
#include "tts/Transforms/Specialize/Passes.h"

using namespace mlir;
using namespace tts;

namespace tts {
#define GEN_PASS_DEF_TTSSPECIALIZE
#include "tts/Transforms/Specialize/Passes.h.inc"
} // namespace tts

namespace {
/// Sizes of the named dimensions: one bucket and its micro-batch.
struct Sizes {
  BucketAttr bucket;
  int64_t microBatch;

  std::optional<int64_t> lookup(StringRef name) const {
    return name == "batch" ? std::optional(microBatch) : bucket.lookup(name);
  }
};

bool isSymbolic(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa_and_nonnull<DimsAttr>(tensor.getEncoding());
}

bool isSymbolic(func::FuncOp program) {
  auto symbolic = [](Type type) { return isSymbolic(type); };
  return llvm::any_of(program.getArgumentTypes(), symbolic) ||
         llvm::any_of(program.getResultTypes(), symbolic);
}

/// The static form of `type`, or null with an error when a name is unknown.
Type specialize(Type type, const Sizes &sizes, Location loc) {
  if (!isSymbolic(type))
    return type;
  auto tensor = cast<RankedTensorType>(type);
  auto names = cast<DimsAttr>(tensor.getEncoding()).getNames();
  SmallVector<int64_t> shape(tensor.getShape());
  for (auto [size, name] : llvm::zip(shape, names)) {
    if (!ShapedType::isDynamic(size))
      continue;
    std::optional<int64_t> known = sizes.lookup(name.getValue());
    if (!known) {
      emitError(loc) << "bucket " << sizes.bucket << " gives no size to the "
                     << "dimension '" << name.getValue()
                     << "'; name it in the bucket";
      return {};
    }
    size = *known;
  }
  return RankedTensorType::get(shape, tensor.getElementType());
}

LogicalResult specialize(ValueRange values, const Sizes &sizes) {
  for (Value value : values) {
    Type type = specialize(value.getType(), sizes, value.getLoc());
    if (!type)
      return failure();
    value.setType(type);
  }
  return success();
}

/// Keeps the names of inputs' and outputs' dimensions: the runtime loads by
/// them.
void keepNames(func::FuncOp program) {
  for (unsigned i = 0; i < program.getNumArguments(); ++i)
    if (isSymbolic(program.getArgumentTypes()[i]))
      program.setArgAttr(
          i, kDimsAttr,
          cast<RankedTensorType>(program.getArgumentTypes()[i]).getEncoding());
  for (unsigned i = 0; i < program.getNumResults(); ++i)
    if (isSymbolic(program.getResultTypes()[i]))
      program.setResultAttr(
          i, kDimsAttr,
          cast<RankedTensorType>(program.getResultTypes()[i]).getEncoding());
}

LogicalResult specialize(func::FuncOp program, const Sizes &sizes) {
  keepNames(program);
  if (failed(specialize(program.getArguments(), sizes)))
    return failure();
  WalkResult walk = program.walk([&](Operation *op) {
    return WalkResult(specialize(op->getResults(), sizes));
  });
  if (walk.wasInterrupted())
    return failure();
  Operation *result = program.getBody().front().getTerminator();
  program.setType(FunctionType::get(
      program.getContext(), program.getBody().front().getArgumentTypes(),
      result->getOperandTypes()));
  return success();
}

struct Specialize : tts::impl::TtsSpecializeBase<Specialize> {
  using TtsSpecializeBase::TtsSpecializeBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto buckets = module->getAttrOfType<ArrayAttr>(kBucketsAttr);
    auto plan = module->getAttrOfType<PlanAttr>(kPlanAttr);
    if (!buckets || !plan) {
      module.emitError("specialize needs tts.buckets and tts.plan; run "
                       "tts-plan first");
      return signalPassFailure();
    }
    if (plan.getMicroBatches().size() != static_cast<int64_t>(buckets.size())) {
      module.emitError("tts.plan has one micro-batch per bucket of "
                       "tts.buckets");
      return signalPassFailure();
    }
    for (auto program :
         llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      if (program->hasAttr(kProgramAttr) &&
          failed(replace(program, buckets, plan)))
        return signalPassFailure();
  }

  LogicalResult replace(func::FuncOp program, ArrayAttr buckets,
                        PlanAttr plan) {
    bool isPerBucket = isSymbolic(program);
    // The planner looks at buckets one by one and at what is no bucket's once;
    // what moves into backward belongs to the bucket.
    bool isBuckets =
        isPerBucket || getOperation()->hasAttr(kUpdateInBackwardAttr);
    if (isBuckets ? onlyBucket == kNoBucket : onlyBucket >= 0)
      program.erase();
    else if (isPerBucket)
      return cloneForBuckets(program, buckets, plan);
    return success();
  }

  static constexpr int64_t kNoBucket = -2;

  LogicalResult cloneForBuckets(func::FuncOp program, ArrayAttr buckets,
                                PlanAttr plan) {
    OpBuilder builder(program);
    int64_t first = onlyBucket >= 0 ? onlyBucket : 0;
    int64_t last = onlyBucket >= 0 ? onlyBucket : buckets.size() - 1;
    std::string name = program.getName().str();
    for (int64_t index = first; index <= last; ++index) {
      // The last one takes the program itself.
      auto clone =
          index == last ? program : cast<func::FuncOp>(builder.clone(*program));
      clone.setName((name + "_b" + Twine(index)).str());
      clone->setAttr(kBucketAttr, builder.getI64IntegerAttr(index));
      Sizes sizes{cast<BucketAttr>(buckets[index]),
                  plan.getMicroBatches()[index]};
      if (failed(specialize(clone, sizes)))
        return failure();
    }
    return success();
  }
};
} // namespace
