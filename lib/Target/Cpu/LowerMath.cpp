//===- LowerMath.cpp - functions of math as polynomials or libm calls -----===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "tts/Target/Cpu/Passes.h"

using namespace mlir;

namespace tts::cpu {
#define GEN_PASS_DEF_LOWERMATHPASS
#include "tts/Target/Cpu/Passes.h.inc"

/// What has a polynomial in f32. Everything else is left to LLVM, which knows
/// the machine's own instructions and calls libm lane by lane for the rest.
static bool isPolynomial(StringRef name) {
  return llvm::is_contained({"math.exp", "math.log", "math.log1p", "math.tanh",
                             "math.sin", "math.cos"},
                            name);
}

namespace {
struct LowerMathPass : impl::LowerMathPassBase<LowerMathPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateMathPolynomialApproximationPatterns(patterns, isPolynomial);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace

} // namespace tts::cpu
