//===- LowerMath.cpp - functions of math as polynomials or libm calls -----===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "tts/Conversion/TtsToKernels/Passes.h"

using namespace mlir;

namespace tts {
#define GEN_PASS_DEF_LOWERMATHPASS
#include "tts/Conversion/TtsToKernels/Passes.h.inc"

/// What has a polynomial in f32. Everything else is left to the target, which
/// knows the machine's own instructions and calls a library for the rest.
static bool isPolynomial(StringRef name) {
  // Not sin and cos: theirs lose relative accuracy near the multiples of π.
  return llvm::is_contained({"math.exp", "math.log", "math.log1p", "math.tanh"},
                            name);
}

namespace {
/// log1p in f64, which LLVM has no intrinsic for: with u = 1 + x rounded,
/// log(u)·x/(u - 1) undoes the rounding of u (Kahan; HP-15C handbook, 1982).
struct Log1pOfDouble : OpRewritePattern<math::Log1pOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::Log1pOp op,
                                PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getType()).isF64())
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value x = op.getOperand();
    auto constant = [&](double value) -> Value {
      TypedAttr attribute = b.getF64FloatAttr(value);
      if (auto vector = dyn_cast<VectorType>(x.getType()))
        attribute = DenseElementsAttr::get(vector, value);
      return arith::ConstantOp::create(b, attribute);
    };
    auto equal = [&](Value y, Value z) -> Value {
      return arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, y, z);
    };
    Value one = constant(1);
    Value u = arith::AddFOp::create(b, one, x);
    Value log = math::LogOp::create(b, u);
    Value ratio = arith::DivFOp::create(b, x, arith::SubFOp::create(b, u, one));
    Value corrected = arith::MulFOp::create(b, log, ratio);
    // Small x is its own log1p; infinity would give infinity over infinity.
    corrected = arith::SelectOp::create(b, equal(u, x), log, corrected);
    rewriter.replaceOpWithNewOp<arith::SelectOp>(op, equal(u, one), x,
                                                 corrected);
    return success();
  }
};
} // namespace

namespace {
struct LowerMathPass : impl::LowerMathPassBase<LowerMathPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateMathPolynomialApproximationPatterns(patterns, isPolynomial);
    patterns.add<Log1pOfDouble>(&getContext());
    // In integers: the machine's own rounding to bf16 takes denormals for 0.
    arith::populateExpandBFloat16Patterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace

} // namespace tts
