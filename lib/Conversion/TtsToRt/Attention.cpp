//===- Attention.cpp - attention by blocks of queries --------------------===//
//
// Heads come before time, [batch, heads, time, depth], so that the rows of a
// head lie one behind the other. A block of queries of some utterances and all
// heads is one batched product, one softmax and one more product; backward
// computes its probabilities again. No tensor has time twice.
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
        heads(op.getHeads()), depth(flat.getDimSize(2) / heads),
        timeFirst(type({batch, time, heads, depth})),
        headFirst(type({batch, heads, time, depth})) {}

  /// The last queries first: under `causal` they alone reach every key, so
  /// their sums over queries overwrite and those of the others add.
  SmallVector<Block> getBlocks() {
    int64_t queries = getQueries(time);
    int64_t bytes = time * heads * depth * flat.getElementTypeBitWidth() / 8;
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

  /// [batch, time, channels] as [batch, heads, time, depth].
  Value split(Value x) {
    if (heads == 1)
      return alias(x, headFirst);
    return SwapMiddleOp::create(builder, loc, headFirst, alias(x, timeFirst));
  }

  Value merge(Value x) {
    if (heads > 1)
      x = SwapMiddleOp::create(builder, loc, timeFirst, x);
    return alias(x, flat);
  }

  /// Storage of [batch, heads, time, depth].
  Value empty() const { return emitEmpty(builder, loc, headFirst); }

  /// Rows of the block times all its keys, x yᵀ.
  Value scores(Value x, Value y, Block block) {
    Product product{block.rows, block.keys, depth};
    product.transposeB = true;
    batched(product, block, {perHead(), perHead(), block.rows * block.keys});
    product.offsetA = firstRow(block);
    product.offsetB = firstKey(block);
    auto wide = type({block.utterances, heads, block.rows, block.keys});
    return emitProduct(builder, loc, x, y, emitEmpty(builder, loc, wide),
                       product);
  }

  /// softmax(scale · q kᵀ), with the op's dropout or without.
  Value probabilities(Value q, Value k, Block block, bool dropped) {
    Value s = scores(q, k, block);
    bool drops = dropped && op.getDraw();
    // Blocks that need not know where they lie share one kernel.
    int64_t first = op.getCausal() || drops ? block.first : 0;
    return KeySoftmaxOp::create(
        builder, loc, s.getType(), s, ofBlock(op.getLengths(), block),
        drops ? ofBlock(op.getUtterances(), block) : Value(),
        drops ? op.getDraw() : Value(), scale(),
        builder.getI64IntegerAttr(first), op.getCausalAttr(),
        drops ? op.getRateAttr() : FloatAttr(),
        drops ? op.getStreamAttr() : StringAttr());
  }

  /// The scores' gradient and the dropped probabilities, from probabilities
  /// before dropout and the gradient of those after it.
  std::pair<Value, Value> scoresGrad(Value p, Value dp, Block block) {
    bool drops = bool(op.getDraw());
    auto grad = KeySoftmaxGradOp::create(
        builder, loc, dp.getType(), drops ? p.getType() : Type(), p, dp,
        drops ? ofBlock(op.getUtterances(), block) : Value(), op.getDraw(),
        scale(), builder.getI64IntegerAttr(drops ? block.first : 0),
        op.getRateAttr(), op.getStreamAttr());
    return {grad.getDscores(), drops ? grad.getDropped() : p};
  }

  /// The block's rows of result = s·x.
  Value overKeys(Value s, Value x, Value result, Block block) {
    Product product{block.rows, depth, block.keys};
    batched(product, block, {block.rows * block.keys, perHead(), perHead()});
    product.offsetB = firstKey(block);
    product.offsetC = firstRow(block);
    return emitProduct(builder, loc, s, x, result, product);
  }

  /// result (+)= sᵀ · the block's rows of x, for its keys.
  Value overQueries(Value s, Value x, Value result, Block block) {
    Product product{block.keys, depth, block.rows};
    product.transposeA = true;
    batched(product, block, {block.rows * block.keys, perHead(), perHead()});
    product.offsetB = firstRow(block);
    product.offsetC = firstKey(block);
    product.beta = block.overwrites ? 0 : 1;
    return emitProduct(builder, loc, s, x, result, product);
  }

private:
  RankedTensorType type(ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, flat.getElementType());
  }
  Value alias(Value x, Type to) {
    return rt::AliasOp::create(builder, loc, to, x, /*after=*/Value());
  }
  FloatAttr scale() {
    return builder.getF64FloatAttr(1 / std::sqrt(double(depth)));
  }
  /// Elements of one head of one utterance.
  int64_t perHead() { return time * depth; }
  /// Where the block's keys and its queries start.
  int64_t firstKey(Block block) { return block.begin * heads * perHead(); }
  int64_t firstRow(Block block) {
    return firstKey(block) + block.first * depth;
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
  int64_t batch, time, heads, depth;
  RankedTensorType timeFirst, headFirst;
};

struct LowerAttention : OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AttentionOp op,
                                PatternRewriter &rewriter) const override {
    Blocks<AttentionOp> blocks(rewriter, op);
    Value q = blocks.split(op.getQ()), k = blocks.split(op.getK()),
          v = blocks.split(op.getV()), y = blocks.empty();
    for (Block block : blocks.getBlocks())
      y = blocks.overKeys(blocks.probabilities(q, k, block, /*dropped=*/true),
                          v, y, block);
    rewriter.replaceOp(op, blocks.merge(y));
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
    Value dq = blocks.empty(), dk = blocks.empty(), dv = blocks.empty();
    for (Block block : blocks.getBlocks()) {
      Value p = blocks.probabilities(q, k, block, /*dropped=*/false);
      Value dp = blocks.scores(dy, v, block);
      auto [ds, dropped] = blocks.scoresGrad(p, dp, block);
      dv = blocks.overQueries(dropped, dy, dv, block);
      dq = blocks.overKeys(ds, k, dq, block);
      dk = blocks.overQueries(ds, q, dk, block);
    }
    rewriter.replaceOp(op,
                       {blocks.merge(dq), blocks.merge(dk), blocks.merge(dv)});
    return success();
  }
};
} // namespace

void tts::populateAttentionPatterns(RewritePatternSet &patterns) {
  patterns.add<LowerAttention, LowerAttentionGrad>(patterns.getContext());
}
