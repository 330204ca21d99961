//===- Costs.cpp - floating-point operations of contractions -------------===//
// and the workspace of those that have one. A multiply-add counts two. Shapes
// are static by the time anybody asks; a symbolic size counts as one.

#include "tts/Dialect/Tts/IR/TtsDialect.h"

using namespace mlir;
using namespace tts;

static int64_t size(Value value, int64_t dim) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.isDynamicDim(dim) ? 1 : type.getDimSize(dim);
}

static int64_t elements(Value value) {
  int64_t count = 1;
  for (int64_t dim :
       llvm::seq<int64_t>(0, cast<RankedTensorType>(value.getType()).getRank()))
    count *= size(value, dim);
  return count;
}

/// Of a matmul of each row of `rows` with a matrix or filter of `weights`.
static int64_t perRow(Value rows, Value weights) {
  int64_t last = cast<RankedTensorType>(rows.getType()).getRank() - 1;
  return 2 * (elements(rows) / size(rows, last)) * elements(weights);
}

/// Of `matmuls` products of time × time scores (half of them if causal) with d
/// channels, every head, and a softmax of five operations per score.
static int64_t attention(Value q, int64_t heads, bool causal, int64_t matmuls) {
  int64_t time = size(q, 1);
  int64_t scores = size(q, 0) * (causal ? time * (time + 1) / 2 : time * time);
  return scores * (2 * matmuls * size(q, 2) + 5 * heads);
}

int64_t LinearOp::getFlops() { return perRow(getX(), getW()); }
int64_t WeightGradOp::getFlops() { return perRow(getX(), getDw()); }
int64_t Conv1dOp::getFlops() { return perRow(getX(), getW()); }
int64_t Conv1dInputGradOp::getFlops() { return perRow(getDy(), getW()); }
int64_t Conv1dFilterGradOp::getFlops() { return perRow(getX(), getDw()); }

/// Of `matmuls` products like x·w, with five operations per logit.
static int64_t crossEntropy(Value x, Value w, int64_t matmuls) {
  return matmuls * perRow(x, w) + 5 * elements(x) / size(x, 2) * size(w, 1);
}
int64_t LinearCrossEntropyOp::getFlops() {
  return crossEntropy(getX(), getW(), 1);
}
// The logits again, dx and dw.
int64_t LinearCrossEntropyGradOp::getFlops() {
  return crossEntropy(getX(), getW(), 3);
}

int64_t DepthwiseConv1dOp::getFlops() {
  return 2 * elements(getX()) * size(getW(), 0);
}
int64_t DepthwiseConv1dFilterGradOp::getFlops() {
  return 2 * elements(getX()) * size(getDw(), 0);
}

// q kᵀ and p v.
int64_t AttentionOp::getFlops() {
  return attention(getQ(), getHeads(), getCausal(), 2);
}
// q kᵀ again, dp = dy vᵀ, dv = pᵀ dy, dq = ds k, dk = dsᵀ q.
int64_t AttentionGradOp::getFlops() {
  return attention(getQ(), getHeads(), getCausal(), 5);
}

static int64_t bytes(Value value) {
  return elements(value) *
         (cast<RankedTensorType>(value.getType()).getElementTypeBitWidth() / 8);
}

// The library's convolution wants its weights in blocks; a pointwise one is a
// plain product.
static int64_t blockedWeights(Value weights) {
  return size(weights, 0) > 1 ? bytes(weights) : 0;
}
// Groups work on padded copies.
int64_t Conv1dOp::getWorkspaceBytes() {
  return getGroups() == 1 ? blockedWeights(getW())
                          : bytes(getX()) + bytes(getY());
}
int64_t Conv1dInputGradOp::getWorkspaceBytes() {
  return getGroups() == 1 ? blockedWeights(getW())
                          : bytes(getDy()) + bytes(getDx());
}
// A product for each tap.
int64_t Conv1dOp::getNumCalls() { return size(getW(), 0); }
int64_t Conv1dInputGradOp::getNumCalls() { return size(getW(), 0); }

/// `tensors` of q's size with heads before time (k's may be smaller), and
/// `blocks` of scores of 64 queries with all keys.
static int64_t attentionWorkspace(Value q, int64_t heads, int64_t tensors,
                                  int64_t blocks) {
  int64_t time = size(q, 1), perChannel = bytes(q) / size(q, 2) / time;
  return tensors * bytes(q) +
         blocks * heads * std::min<int64_t>(64, time) * time * perChannel;
}
// q, k, v and the result; probabilities.
int64_t AttentionOp::getWorkspaceBytes() {
  return attentionWorkspace(getQ(), getHeads(), 4, 1);
}
// q, k, v, dy and dq, dk, dv; probabilities and their gradients.
int64_t AttentionGradOp::getWorkspaceBytes() {
  return attentionWorkspace(getQ(), getHeads(), 7, 2);
}

// Heads before time and back; products and a softmax for each block of queries.
int64_t AttentionOp::getNumCalls() {
  return 4 + 3 * llvm::divideCeil(size(getQ(), 1), 64);
}
int64_t AttentionGradOp::getNumCalls() {
  return 7 + 7 * llvm::divideCeil(size(getQ(), 1), 64);
}

/// Chunks of steps: about as many as Select makes, see TtsToRt/CrossEntropy.
static int64_t numChunks(Value targets, Value w) {
  int64_t logits = elements(targets) * bytes(w) / size(w, 0);
  return std::clamp<int64_t>(llvm::divideCeil(logits, 1 << 20), 1, 16);
}
/// The logits of one.
static int64_t chunkBytes(Value targets, Value w) {
  return elements(targets) * bytes(w) / size(w, 0) / numChunks(targets, w);
}
int64_t LinearCrossEntropyOp::getWorkspaceBytes() {
  return chunkBytes(getTargets(), getW());
}
int64_t LinearCrossEntropyGradOp::getWorkspaceBytes() {
  return chunkBytes(getTargets(), getW());
}
// Targets, zeros, sums; a product and a kernel for each chunk.
int64_t LinearCrossEntropyOp::getNumCalls() {
  return 5 + 2 * numChunks(getTargets(), getW());
}
int64_t LinearCrossEntropyGradOp::getNumCalls() {
  return 1 + 4 * numChunks(getTargets(), getW());
}
