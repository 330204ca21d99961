//===- ShardPrograms.cpp - gradients and parameters kept as shards --------===//
//
// Ranks may be in different buckets at the same time, so the programs of one
// kind exchange the same in the same order whatever the bucket: a sequence is
// found that suits all of them, and each collective waits for the one before.
// With a prefetch of d a gather begins where the d-th one before it is needed:
// the same everywhere, too.
//
//===----------------------------------------------------------------------===//

#include "Sharding.h"
#include "tts/Dialect/Tts/IR/Accumulation.h"
#include "tts/Dialect/Tts/IR/Names.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tts;
using namespace tts::partition;

/// So many elements together are exchanged at once.
static constexpr int64_t kFewElements = 1 << 16;

namespace {
/// What is exchanged: a parameter or half copy is gathered, a gradient reduced
/// and scattered. By role and name.
using Key = std::pair<StringRef, Attribute>;

/// Before which op of its block each must be done at the latest, or behind
/// which at the earliest.
struct Bucket {
  func::FuncOp program;
  SmallVector<Operation *> ops;
  llvm::MapVector<Key, unsigned> places;
  Value last; ///< of the collective before
};

class KindSharder {
public:
  KindSharder(ArrayRef<func::FuncOp> programs, const Parameters &parameters,
              Sharding sharding)
      : parameters(parameters), sharding(sharding) {
    for (func::FuncOp program : programs)
      buckets.push_back({program, {}, {}, {}});
  }

  void run() {
    for (Bucket &bucket : buckets)
      startGradientsAnew(bucket.program);
    findKeys();
    for (Bucket &bucket : buckets)
      findPlaces(bucket);
    order();
    fetchAhead();
    for (Bucket &bucket : buckets)
      insert(bucket);
  }

private:
  static constexpr unsigned kNever = ~0u;

  static bool isGather(Key key) { return key.first != kGradientAttr; }

  /// Of an argument or result that is exchanged; else none.
  std::optional<Key> keyOf(DictionaryAttr attributes) {
    if (!attributes)
      return std::nullopt;
    for (StringRef role : {kParamAttr, kHalfCopyAttr, kGradientAttr})
      if (auto name = attributes.getAs<StringAttr>(role))
        if (parameters.contains(name) &&
            (role == kGradientAttr || sharding.level == Sharding::Parameters))
          return Key{role, name};
    return std::nullopt;
  }

  /// A contribution is whole until it is scattered: apart from the sum.
  void startGradientsAnew(func::FuncOp program) {
    for (BlockArgument argument : program.getArguments())
      if (program.getArgAttr(argument.getArgNumber(), kGradientAttr))
        for (OpOperand &use : llvm::make_early_inc_range(argument.getUses()))
          startAccumulatorAnew(use);
  }

  BlockArgument findArgument(func::FuncOp program, Key key) {
    for (BlockArgument argument : program.getArguments())
      if (keyOf(program.getArgAttrDict(argument.getArgNumber())) == key)
        return argument;
    return {};
  }

  /// What any bucket reads all of them gather; backward every parameter.
  void findKeys() {
    for (Bucket &bucket : buckets)
      for (BlockArgument argument : bucket.program.getArguments())
        if (auto key =
                keyOf(bucket.program.getArgAttrDict(argument.getArgNumber())))
          keys.insert({*key, argument.getType()});
    SmallVector<Key> scattered;
    for (auto &[key, type] : keys)
      if (!isGather(key))
        scattered.push_back(key);
    if (sharding.level == Sharding::Parameters)
      for (Key key : scattered)
        if (!keys.contains({kParamAttr, key.second}) &&
            !keys.contains({kHalfCopyAttr, key.second}))
          keys.insert({{kParamAttr, key.second},
                       parameters.lookup(cast<StringAttr>(key.second)).type});
    for (Bucket &bucket : buckets)
      for (auto &[key, type] : keys)
        if (!findArgument(bucket.program, key))
          addArgument(bucket.program, key, type);
  }

  void addArgument(func::FuncOp program, Key key, Type type) {
    Builder builder(program.getContext());
    const Parameter &parameter =
        parameters.lookup(cast<StringAttr>(key.second));
    DictionaryAttr attributes =
        key.first == kParamAttr
            ? parameter.attributes
            : builder.getDictionaryAttr(
                  builder.getNamedAttr(key.first, key.second));
    (void)program.insertArgument(program.getNumArguments(), type, attributes,
                                 parameter.loc);
  }

  void findPlaces(Bucket &bucket) {
    llvm::DenseMap<Operation *, unsigned> number;
    for (Operation &op : bucket.program.getBody().front()) {
      number[&op] = bucket.ops.size();
      bucket.ops.push_back(&op);
    }
    for (auto &[key, type] : keys) {
      unsigned &place = bucket.places[key];
      place = isGather(key) ? kNever : 0;
      if (isGather(key)) {
        for (Operation *user : findArgument(bucket.program, key).getUsers())
          place = std::min(place, number[user]);
      } else if (Operation *op =
                     findGradient(bucket, key)->get().getDefiningOp())
        place = number[op];
    }
  }

  /// Where the program returns the gradient.
  OpOperand *findGradient(Bucket &bucket, Key key) {
    for (OpOperand &operand : bucket.ops.back()->getOpOperands())
      if (keyOf(bucket.program.getResultAttrDict(operand.getOperandNumber())) ==
          key)
        return &operand;
    llvm_unreachable("backward takes a gradient that it does not give");
  }

  /// In the first bucket's order; but a gather that some bucket needs sooner
  /// than another's gradient is final comes before that one's scatter.
  void order() {
    Bucket &first = buckets.front();
    SmallVector<Key> gathers, scatters;
    for (auto &[key, place] : first.places)
      (isGather(key) ? gathers : scatters).push_back(key);
    // What nobody reads is gathered where its gradient is final.
    auto placeOf = [&](Key key) {
      unsigned place = first.places[key];
      return place == kNever && keys.contains({kGradientAttr, key.second})
                 ? first.places[{kGradientAttr, key.second}]
                 : place;
    };
    auto isBefore = [&](Key a, Key b) { return placeOf(a) < placeOf(b); };
    llvm::stable_sort(gathers, isBefore);
    llvm::stable_sort(scatters, isBefore);
    llvm::SmallPtrSet<const void *, 32> done;
    for (Key scatter : scatters) {
      for (Key &gather : gathers)
        if (!done.contains(&gather) && (placeOf(gather) <= placeOf(scatter) ||
                                        isNeeded(gather, scatter))) {
          done.insert(&gather);
          append(gather);
        }
      append(scatter);
    }
    for (Key &gather : gathers)
      if (!done.contains(&gather))
        append(gather);
  }

  bool isNeeded(Key gather, Key scatter) {
    return llvm::any_of(buckets, [&](Bucket &bucket) {
      return bucket.places[gather] <= bucket.places[scatter];
    });
  }

  int64_t elementsOf(Key key) {
    return cast<RankedTensorType>(keys[key]).getNumElements();
  }

  /// Small ones travel together: gathers with the first of them, scatters with
  /// the last, over whatever large ones are between.
  void append(Key key) {
    auto isLike = [&](const SmallVector<Key> &step) {
      int64_t elements = elementsOf(key);
      for (Key each : step)
        elements += elementsOf(each);
      return isGather(step.front()) == isGather(key) &&
             getElementTypeOrSelf(keys[step.front()]) ==
                 getElementTypeOrSelf(keys[key]) &&
             elements <= kFewElements;
    };
    auto found = std::find_if(sequence.rbegin(), sequence.rend(), isLike);
    if (found == sequence.rend()) {
      sequence.push_back({key});
      return;
    }
    found->push_back(key);
    if (!isGather(key)) // it moves to the end
      std::rotate(std::prev(found.base()), found.base(), sequence.end());
  }

  /// Each gather moves to the one so many before it, over the scatters between.
  void fetchAhead() {
    if (sharding.prefetch == 0)
      return;
    SmallVector<SmallVector<Key>> gathers, moved;
    for (const SmallVector<Key> &step : sequence)
      if (isGather(step.front()))
        gathers.push_back(step);
    size_t next = 0;
    auto moveUpTo = [&](size_t count) {
      for (; next < std::min(count, gathers.size()); ++next)
        moved.push_back(gathers[next]);
    };
    moveUpTo(sharding.prefetch);
    for (SmallVector<Key> &step : sequence)
      if (isGather(step.front()))
        moveUpTo(next + 1);
      else
        moved.push_back(step);
    sequence = std::move(moved);
  }

  /// By gather of the sequence: where it begins, as late as its use, or that of
  /// the one so many before it, lets it.
  SmallVector<unsigned> findGatherPlaces(Bucket &bucket) {
    SmallVector<unsigned> places;
    for (const SmallVector<Key> &step : sequence)
      if (isGather(step.front())) {
        places.push_back(bucket.ops.size() - 1);
        for (Key key : step)
          places.back() = std::min(places.back(), bucket.places[key]);
      }
    for (size_t i = places.size(); i-- > 1;)
      places[i - 1] = std::min(places[i - 1], places[i]);
    size_t ahead = std::min<size_t>(sharding.prefetch, places.size());
    places.insert(places.begin(), ahead, 0);
    return places;
  }

  /// Gathers as late, scatters as early as the sequence lets them.
  void insert(Bucket &bucket) {
    unsigned end = bucket.ops.size() - 1, place = 0;
    SmallVector<unsigned> gatherPlaces = findGatherPlaces(bucket);
    const unsigned *next = gatherPlaces.begin();
    for (const SmallVector<Key> &step : sequence) {
      if (isGather(step.front()))
        place = *next++;
      else
        for (Key key : step)
          place = std::max(place, bucket.places[key] + 1);
      OpBuilder builder(bucket.ops[std::min(place, end)]);
      isGather(step.front()) ? gather(bucket, step, builder)
                             : scatter(bucket, step, builder);
    }
    refreshType(bucket.program);
  }

  Location locate(const Twine &text, const SmallVector<Key> &step) {
    auto name = cast<StringAttr>(step.front().second);
    return NameLoc::get(
        StringAttr::get(name.getContext(), name.getValue() + text),
        parameters.lookup(name).loc);
  }

  /// The first operand of a collective, which waits for the one before.
  Value wait(Bucket &bucket, Value value, OpBuilder &builder, Location loc) {
    if (!bucket.last)
      return value;
    return RecomputeAfterOp::create(builder, loc, value, bucket.last);
  }

  void setAhead(Operation *op) {
    if (sharding.prefetch)
      op->setAttr(kAheadAttr, UnitAttr::get(op->getContext()));
  }

  void gather(Bucket &bucket, const SmallVector<Key> &step,
              OpBuilder &builder) {
    Location loc = locate(".gather", step);
    SmallVector<Value> arguments, shards;
    SmallVector<Type> wholes;
    for (Key key : step) {
      BlockArgument argument = findArgument(bucket.program, key);
      wholes.push_back(argument.getType());
      makeShard(bucket.program, argument, sharding.ranks);
      arguments.push_back(argument);
    }
    shards = arguments;
    shards.front() = wait(bucket, shards.front(), builder, loc);
    auto op = AllGatherOp::create(builder, loc, wholes, shards, sharding.ranks);
    setAhead(op);
    for (auto [argument, whole] : llvm::zip(arguments, op.getValues()))
      Value(argument).replaceUsesWithIf(whole, [&](OpOperand &use) {
        return use.getOwner() != op &&
               use.getOwner() != shards.front().getDefiningOp();
      });
    bucket.last = op.getValues().front();
  }

  void scatter(Bucket &bucket, const SmallVector<Key> &step,
               OpBuilder &builder) {
    Location loc = locate(".scatter", step);
    SmallVector<Value> values, accumulators;
    SmallVector<OpOperand *> returned;
    SmallVector<Type> types;
    for (Key key : step) {
      returned.push_back(findGradient(bucket, key));
      values.push_back(returned.back()->get());
      BlockArgument argument = findArgument(bucket.program, key);
      makeShard(bucket.program, argument, sharding.ranks);
      accumulators.push_back(argument);
      types.push_back(argument.getType());
    }
    values.front() = wait(bucket, values.front(), builder, loc);
    auto op = ReduceScatterOp::create(builder, loc, types, values, accumulators,
                                      sharding.ranks);
    setAhead(op);
    for (auto [operand, shard] : llvm::zip(returned, op.getShards()))
      operand->set(shard);
    bucket.last = op.getShards().front();
  }

  const Parameters &parameters;
  Sharding sharding;
  SmallVector<Bucket> buckets;
  llvm::MapVector<Key, Type> keys; ///< with the whole's type
  SmallVector<SmallVector<Key>> sequence;
};
} // namespace

static void shardZero(func::FuncOp zero, const Parameters &parameters,
                      Sharding sharding) {
  Operation *returned = zero.getBody().front().getTerminator();
  for (BlockArgument argument : zero.getArguments()) {
    unsigned number = argument.getArgNumber();
    auto name = zero.getArgAttrOfType<StringAttr>(number, kGradientAttr);
    if (!parameters.contains(name))
      continue;
    makeShard(zero, argument, sharding.ranks);
    for (OpOperand &operand : returned->getOpOperands())
      if (zero.getResultAttr(operand.getOperandNumber(), kGradientAttr) == name)
        operand.get().setType(argument.getType());
  }
  refreshType(zero);
}

void partition::shardPrograms(ArrayRef<func::FuncOp> programs,
                              func::FuncOp update, Sharding sharding) {
  Parameters parameters =
      update ? findParameters(update) : findParameters(programs);
  llvm::MapVector<StringRef, SmallVector<func::FuncOp>> kinds;
  for (func::FuncOp program : programs)
    kinds[program->getAttrOfType<StringAttr>(kProgramAttr)].push_back(program);
  for (auto &[kind, ofKind] : kinds)
    if (kind == "zero")
      shardZero(ofKind.front(), parameters, sharding);
    else if (kind != "update")
      KindSharder(ofKind, parameters, sharding).run();
}
