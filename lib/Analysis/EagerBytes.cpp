//===- EagerBytes.cpp - what an eager framework would hold ---------------===//
//
// Goes through the forward pass as such a framework runs it, over the whole
// batch: each op computes in a width of its own (EagerOpInterface) and keeps
// what its backward reads. A tensor counts once however many keep it; what an
// op casts for itself is a tensor of its own, but for parameters, whose casts
// are made once. On top come the states, the batch and, when backward starts,
// the gradient of the largest tensor kept.
//
//===----------------------------------------------------------------------===//

#include "tts/Analysis/EagerBytes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tts/Analysis/BoundaryBytes.h"
#include "tts/Dialect/Tts/IR/Eager.h"
#include "tts/Dialect/Tts/IR/Names.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"
#include "llvm/ADT/DenseSet.h"
#include <tuple>

using namespace mlir;
using namespace tts;

namespace {
/// Bytes of an element in each width.
struct Widths {
  int64_t half, full;

  explicit Widths(StringRef precision)
      : half(precision == "fp64"                          ? 8
             : precision == "bf16" || precision == "fp16" ? 2
                                                          : 4),
        full(precision == "fp64" ? 8 : 4) {}
};

/// One forward pass in one bucket.
class EagerPass {
public:
  EagerPass(BucketAttr bucket, int64_t batch, Widths widths)
      : bucket(bucket), batch(batch), widths(widths) {}

  int64_t run(func::FuncOp forward);

private:
  /// A tensor: the value whose storage it is, the op that cast it for itself
  /// (or null), and the bytes of an element.
  using Tensor = std::tuple<Value, Operation *, int64_t>;

  int64_t elements(Value value) const;
  void addArguments(func::FuncOp forward);
  void addOp(Operation *op);
  EagerRule ruleOf(Operation *op) const;
  int64_t widthOf(Operation *op, EagerWidth width) const;
  void keep(Operation *op, Value value, int64_t width);
  void add(int64_t bytes) {
    sum += bytes;
    largest = std::max(largest, bytes);
  }
  Value rootOf(Value value) const {
    Value root = roots.lookup(value);
    return root ? root : value;
  }

  BucketAttr bucket;
  int64_t batch;
  Widths widths;
  /// Storage of views; bytes of an element of float tensors (0 for what is
  /// made of parameters and constants only: it never widens an op).
  DenseMap<Value, Value> roots;
  DenseMap<Value, int64_t> widthOfValue;
  DenseSet<Value> parameters, inputs, trained;
  DenseSet<Tensor> kept;
  int64_t sum = 0, largest = 0;
};

bool isFloat(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && isa<FloatType>(type.getElementType());
}

/// The bytes of an element that no precision changes.
int64_t bytesOfIntegers(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementTypeBitWidth() / 8;
}
} // namespace

int64_t EagerPass::elements(Value value) const {
  return countElements(value, bucket, batch);
}

void EagerPass::addArguments(func::FuncOp forward) {
  for (BlockArgument argument : forward.getArguments()) {
    unsigned index = argument.getArgNumber();
    if (forward.getArgAttr(index, kInputAttr)) {
      inputs.insert(argument);
      widthOfValue[argument] = widths.full;
      sum += elements(argument) *
             (isFloat(argument) ? widths.full : bytesOfIntegers(argument));
    } else if (forward.getArgAttr(index, kParamAttr)) {
      parameters.insert(argument);
      if (!forward.getArgAttr(index, kFrozenAttr))
        trained.insert(argument);
    }
  }
}

EagerRule EagerPass::ruleOf(Operation *op) const {
  if (auto eager = dyn_cast<EagerOpInterface>(op))
    return eager.getEagerRule(
        [&](Value value) { return trained.contains(value); });
  EagerRule rule;
  if (op->hasTrait<OpTrait::IsTerminator>())
    return rule;
  if (op->getNumOperands() &&
      (op->hasTrait<Alias>() || op->hasTrait<Indexing>()))
    rule.viewed = op->getOperand(0);
  else
    rule.kept = llvm::to_vector(op->getOperands());
  return rule;
}

int64_t EagerPass::widthOf(Operation *op, EagerWidth width) const {
  if (width == EagerWidth::Half)
    return widths.half;
  if (width == EagerWidth::Full)
    return widths.full;
  int64_t widest = 0;
  for (Value operand : op->getOperands())
    if (isFloat(operand))
      widest = std::max(widest, widthOfValue.lookup(operand));
  return widest;
}

void EagerPass::keep(Operation *op, Value value, int64_t width) {
  Value root = rootOf(value);
  bool isParameter = parameters.contains(root), isInput = inputs.contains(root);
  if (!isFloat(value)) {
    if (!isInput && kept.insert({root, nullptr, 0}).second)
      add(elements(root) * bytesOfIntegers(root));
    return;
  }
  int64_t own = isParameter ? widths.full : widthOfValue.lookup(value);
  // Constants and small change made of parameters; states and the batch.
  if (!own || (own == width && (isParameter || isInput)))
    return;
  Operation *caster = own == width || isParameter ? nullptr : op;
  if (kept.insert({root, caster, width}).second)
    add(elements(root) * width);
}

void EagerPass::addOp(Operation *op) {
  EagerRule rule = ruleOf(op);
  int64_t width =
      rule.viewed ? widthOfValue.lookup(rule.viewed) : widthOf(op, rule.width);
  bool isTrained = isa<DifferentiableOpInterface>(op) &&
                   llvm::any_of(op->getOperands(), [&](Value operand) {
                     return trained.contains(operand);
                   });
  for (Value result : op->getResults()) {
    widthOfValue[result] = width;
    if (rule.viewed)
      roots[result] = rootOf(rule.viewed);
    if (isTrained && isFloat(result))
      trained.insert(result);
  }
  // The cast weights stay, whether or not anything is trained through them.
  if (rule.width == EagerWidth::Half)
    for (Value operand : op->getOperands())
      if (parameters.contains(rootOf(operand)))
        keep(op, operand, width);
  if (!isTrained)
    return;
  for (Value value : rule.kept)
    keep(op, value, width);
  for (Value value : rule.copied)
    add(elements(value) * width);
  for (const EagerRule::Beside &beside : rule.beside)
    add(elements(beside.like) * beside.bytes / beside.per);
}

int64_t EagerPass::run(func::FuncOp forward) {
  addArguments(forward);
  for (Operation &op : forward.getBody().front())
    addOp(&op);
  return sum + largest;
}

int64_t tts::countEagerBytes(ModuleOp differentiated, int64_t batch,
                             StringRef precision, int64_t states) {
  int64_t most = 0;
  auto buckets = differentiated->getAttrOfType<ArrayAttr>(kBucketsAttr);
  for (auto program : differentiated.getOps<func::FuncOp>()) {
    auto kind = program->getAttrOfType<StringAttr>(kProgramAttr);
    if (!kind || kind.getValue() != "forward")
      continue;
    for (auto bucket : buckets.getAsRange<BucketAttr>())
      most = std::max(most,
                      EagerPass(bucket, batch, Widths(precision)).run(program));
  }
  return states + most;
}
