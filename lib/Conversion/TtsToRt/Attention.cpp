//===- Attention.cpp - attention by blocks of queries --------------------===//
//
// Heads come before time, [batch, heads, time, depth], so that the rows of a
// head lie one behind the other. A block of queries of some utterances and all
// heads is one batched product, one softmax and one more product; backward
// computes its probabilities again. No tensor has time twice.
//
// Query heads that share a key head are rows of it, side by side under each
// query: [batch, key heads, time · group, depth]. So a product over queries
// sums their gradients of the keys, in the order of these rows.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"

using namespace mlir;
using namespace tts;

/// A block has 64, 128 or 192 queries, at most a third of a longer sequence:
/// what is read again for every block is then read seldom.
static int64_t getQueries(int64_t time) {
  return std::clamp<int64_t>(time / 192, 1, 3) * 64;
}

/// Utterances per block: as many as have this many bytes of keys, which then
/// stay in a second-level cache from one product to the next, but at least a
/// quarter of all, so that a longer micro-batch makes no more entries.
static int64_t getUtterances(int64_t batch, int64_t bytesOfKeys) {
  constexpr int64_t cached = 1 << 20;
  int64_t some = std::max(cached / bytesOfKeys, (batch + 3) / 4);
  return std::min(batch, some);
}

namespace {
/// Queries [first, first + rows) of utterances [begin, begin + utterances) and
/// the keys [0, keys) that they may see.
struct Block {
  int64_t begin, utterances, first, rows, keys;
  /// The first that reaches these utterances' keys.
  bool overwrites;
};

/// What the lowering of attention and of its gradient share.
template <typename OpT> class Blocks {
public:
  Blocks(PatternRewriter &builder, OpT op)
      : builder(builder), loc(op.getLoc()), op(op),
        flat(cast<RankedTensorType>(op.getQ().getType())),
        batch(flat.getDimSize(0)), time(flat.getDimSize(1)),
        depth(flat.getDimSize(2) / op.getHeads()),
        heads(cast<RankedTensorType>(op.getK().getType()).getDimSize(2) /
              depth),
        group(op.getHeads() / heads) {}

  /// The last queries first: under `causal` they alone reach every key, so
  /// their sums over queries overwrite and those of the others add.
  SmallVector<Block> getBlocks() {
    int64_t queries = getQueries(time);
    int64_t bytes = heads * perKeyHead() * flat.getElementTypeBitWidth() / 8;
    int64_t utterances = getUtterances(batch, bytes);
    SmallVector<Block> blocks;
    for (int64_t begin = 0; begin < batch; begin += utterances)
      for (int64_t i = (time + queries - 1) / queries; i-- > 0;) {
        int64_t first = i * queries, end = std::min(first + queries, time);
        blocks.push_back({begin, std::min(utterances, batch - begin), first,
                          end - first, op.getCausal() ? end : time,
                          end == time});
      }
    return blocks;
  }

  /// [batch, time, channels] as [batch, key heads, time · rows, depth], `rows`
  /// of them under each time step.
  Value split(Value x) {
    int64_t rows = rowsOf(x);
    if (heads > 1)
      x = SwapMiddleOp::create(builder, loc, headFirst(rows),
                               alias(x, timeFirst(rows)));
    return alias(x, inRows(rows));
  }

  /// The way back; sums in f32 are rounded on it.
  Value merge(Value x, Value like) {
    int64_t rows = rowsOf(like);
    Type element = cast<RankedTensorType>(x.getType()).getElementType();
    if (heads > 1)
      x = SwapMiddleOp::create(builder, loc, timeFirst(rows),
                               alias(x, headFirst(rows).clone(element)));
    else
      x = roundTo(builder, loc, x, inRows(rows));
    return alias(x, like.getType());
  }

  /// Storage of what `like` becomes by `split`.
  Value empty(Value like) {
    return emitEmpty(builder, loc, inRows(rowsOf(like)));
  }

  /// The same for a sum over the blocks of queries, of which there may be
  /// several.
  Value emptySum(Value like) {
    RankedTensorType type = inRows(rowsOf(like));
    bool isSum = getQueries(time) < time;
    return emitEmpty(builder, loc, isSum ? getSumType(type) : type);
  }

  /// Rows of the block times all its keys, x yᵀ; f32 for a half type.
  Value scores(Value x, Value y, Block block) {
    int64_t rows = block.rows * group;
    Product product{rows, block.keys, depth};
    product.transposeB = true;
    batched(product, block, {perHead(), perKeyHead(), rows * block.keys});
    product.offsetA = firstRow(block);
    product.offsetB = firstKey(block);
    RankedTensorType wide =
        getSumType(type({block.utterances, heads, rows, block.keys}));
    return emitProduct(builder, loc, x, y, emitEmpty(builder, loc, wide),
                       product);
  }

  /// softmax(scale · q kᵀ), with the op's dropout or without; `narrow` in the
  /// type of q, for a product.
  Value probabilities(Value q, Value k, Block block, bool dropped,
                      bool narrow) {
    Value s = scores(q, k, block);
    bool drops = dropped && op.getDraw();
    // Blocks that need not know where they lie share one kernel.
    int64_t first = op.getCausal() || drops ? block.first : 0;
    narrow &= isNarrow();
    auto softmax = KeySoftmaxOp::create(
        builder, loc, s.getType(), narrow ? narrowed(s) : Type(), s,
        ofBlock(op.getLengths(), block),
        drops ? ofBlock(op.getUtterances(), block) : Value(),
        drops ? op.getDraw() : Value(), scale(),
        builder.getI64IntegerAttr(first), groupOf(op.getCausal() || drops),
        op.getCausalAttr(), drops ? op.getRateAttr() : FloatAttr(),
        drops ? op.getStreamAttr() : StringAttr());
    return narrow ? softmax.getNarrow() : softmax.getProbabilities();
  }

  /// The scores' gradient and the dropped probabilities in the type of q, from
  /// probabilities before dropout and the gradient of those after it.
  std::pair<Value, Value> scoresGrad(Value p, Value dp, Block block) {
    bool drops = bool(op.getDraw());
    auto grad = KeySoftmaxGradOp::create(
        builder, loc, dp.getType(), drops ? p.getType() : Type(),
        isNarrow() ? narrowed(dp) : Type(), isNarrow() ? narrowed(p) : Type(),
        p, dp, drops ? ofBlock(op.getUtterances(), block) : Value(),
        op.getDraw(), scale(),
        builder.getI64IntegerAttr(drops ? block.first : 0), groupOf(drops),
        op.getRateAttr(), op.getStreamAttr());
    if (isNarrow())
      return {grad.getNarrowDscores(), grad.getNarrowDropped()};
    return {grad.getDscores(), drops ? grad.getDropped() : p};
  }

  /// The block's rows of result = s·x.
  Value overKeys(Value s, Value x, Value result, Block block) {
    int64_t rows = block.rows * group;
    Product product{rows, depth, block.keys};
    batched(product, block, {rows * block.keys, perKeyHead(), perHead()});
    product.offsetB = firstKey(block);
    product.offsetC = firstRow(block);
    return emitProduct(builder, loc, s, x, result, product);
  }

  /// result (+)= sᵀ · the block's rows of x, for its keys.
  Value overQueries(Value s, Value x, Value result, Block block) {
    int64_t rows = block.rows * group;
    Product product{block.keys, depth, rows};
    product.transposeA = true;
    batched(product, block, {rows * block.keys, perHead(), perKeyHead()});
    product.offsetB = firstRow(block);
    product.offsetC = firstKey(block);
    product.beta = block.overwrites ? 0 : 1;
    return emitProduct(builder, loc, s, x, result, product);
  }

private:
  RankedTensorType type(ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, flat.getElementType());
  }
  /// Whether products round: scores and their softmax stay f32.
  bool isNarrow() const { return getSumType(flat) != flat; }
  Type narrowed(Value wide) {
    return type(cast<RankedTensorType>(wide.getType()).getShape());
  }
  Value alias(Value x, Type to) {
    return x.getType() == to
               ? x
               : rt::AliasOp::create(builder, loc, to, x, /*after=*/Value());
  }
  FloatAttr scale() {
    return builder.getF64FloatAttr(1 / std::sqrt(double(depth)));
  }
  /// What a softmax has to know of the group: nothing, where rows are alike.
  IntegerAttr groupOf(bool matters) {
    return builder.getI64IntegerAttr(matters ? group : 1);
  }
  /// How many rows of a key head `x` has under each time step: the group's
  /// query heads, or one.
  int64_t rowsOf(Value x) {
    return cast<RankedTensorType>(x.getType()).getDimSize(2) / (heads * depth);
  }
  RankedTensorType timeFirst(int64_t rows) {
    return type({batch, time, heads, rows * depth});
  }
  RankedTensorType headFirst(int64_t rows) {
    return type({batch, heads, time, rows * depth});
  }
  RankedTensorType inRows(int64_t rows) {
    return type({batch, heads, time * rows, depth});
  }
  /// Elements of one key head of one utterance: its keys; its queries.
  int64_t perKeyHead() { return time * depth; }
  int64_t perHead() { return perKeyHead() * group; }
  /// Where the block's keys and its queries start.
  int64_t firstKey(Block block) { return block.begin * heads * perKeyHead(); }
  int64_t firstRow(Block block) {
    return block.begin * heads * perHead() + block.first * group * depth;
  }
  void batched(Product &product, Block block, std::array<int64_t, 3> strides) {
    product.batch = block.utterances * heads;
    product.strideA = strides[0];
    product.strideB = strides[1];
    product.strideC = strides[2];
  }
  /// The block's part of one number per utterance.
  Value ofBlock(Value all, Block block) {
    if (block.utterances == batch)
      return all;
    auto element = cast<RankedTensorType>(all.getType()).getElementType();
    return rt::SliceOp::create(
        builder, loc, RankedTensorType::get({block.utterances}, element), all,
        block.begin);
  }

  PatternRewriter &builder;
  Location loc;
  OpT op;
  RankedTensorType flat;
  /// `heads` are those of the keys, each with `group` heads of the queries.
  int64_t batch, time, depth, heads, group;
};

struct LowerAttention : OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AttentionOp op,
                                PatternRewriter &rewriter) const override {
    Blocks<AttentionOp> blocks(rewriter, op);
    Value q = blocks.split(op.getQ()), k = blocks.split(op.getK()),
          v = blocks.split(op.getV()), y = blocks.empty(op.getQ());
    for (Block block : blocks.getBlocks())
      y = blocks.overKeys(blocks.probabilities(q, k, block, /*dropped=*/true,
                                               /*narrow=*/true),
                          v, y, block);
    rewriter.replaceOp(op, blocks.merge(y, op.getQ()));
    return success();
  }
};

struct LowerAttentionGrad : OpRewritePattern<AttentionGradOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AttentionGradOp op,
                                PatternRewriter &rewriter) const override {
    Blocks<AttentionGradOp> blocks(rewriter, op);
    Value q = blocks.split(op.getQ()), k = blocks.split(op.getK()),
          v = blocks.split(op.getV()), dy = blocks.split(op.getDy());
    Value dq = blocks.empty(op.getQ()), dk = blocks.emptySum(op.getK()),
          dv = blocks.emptySum(op.getV());
    for (Block block : blocks.getBlocks()) {
      Value p = blocks.probabilities(q, k, block, /*dropped=*/false,
                                     /*narrow=*/false);
      Value dp = blocks.scores(dy, v, block);
      auto [ds, dropped] = blocks.scoresGrad(p, dp, block);
      dv = blocks.overQueries(dropped, dy, dv, block);
      dq = blocks.overKeys(ds, k, dq, block);
      dk = blocks.overQueries(ds, q, dk, block);
    }
    rewriter.replaceOp(op, {blocks.merge(dq, op.getQ()),
                            blocks.merge(dk, op.getK()),
                            blocks.merge(dv, op.getV())});
    return success();
  }
};
} // namespace

void tts::populateAttentionPatterns(RewritePatternSet &patterns) {
  patterns.add<LowerAttention, LowerAttentionGrad>(patterns.getContext());
}
