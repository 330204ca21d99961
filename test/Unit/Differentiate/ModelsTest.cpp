//===- ModelsTest.cpp - costs, time mixing and stand-ins of ops ----------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tts;

namespace {
class ModelsTest : public ::testing::Test {
protected:
  ModelsTest() { context.loadDialect<func::FuncDialect, TtsDialect>(); }

  /// The only tts op of a function with these arguments.
  Operation *parse(StringRef arguments, StringRef op) {
    std::string text =
        ("func.func @f(" + arguments + ") {\n" + op + "\nreturn\n}\n").str();
    module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module) << text;
    auto func = *module->getOps<func::FuncOp>().begin();
    return &func.getBody().front().front();
  }
  int64_t flops(StringRef arguments, StringRef op) {
    return cast<CostOpInterface>(parse(arguments, op)).getFlops();
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};
} // namespace

TEST_F(ModelsTest, LinearCountsTwoPerMultiplyAdd) {
  EXPECT_EQ(flops("%x: tensor<2x5x8xf32>, %w: tensor<8x4xf32>",
                  "%0 = tts.linear %x, %w : tensor<2x5x8xf32>, "
                  "tensor<8x4xf32> to tensor<2x5x4xf32>"),
            2 * (2 * 5) * (8 * 4));
}

TEST_F(ModelsTest, TransposedLinearCostsTheSame) {
  EXPECT_EQ(flops("%x: tensor<2x5x4xf32>, %w: tensor<8x4xf32>",
                  "%0 = tts.linear %x, %w {transpose} : tensor<2x5x4xf32>, "
                  "tensor<8x4xf32> to tensor<2x5x8xf32>"),
            2 * (2 * 5) * (8 * 4));
}

TEST_F(ModelsTest, WeightGradCostsWhatItsLinearCosts) {
  EXPECT_EQ(flops("%x: tensor<2x5x8xf32>, %dy: tensor<2x5x4xf32>",
                  "%0 = tts.weight_grad %x, %dy : tensor<2x5x8xf32>, "
                  "tensor<2x5x4xf32> to tensor<8x4xf32>"),
            2 * (2 * 5) * (8 * 4));
}

TEST_F(ModelsTest, ConvolutionCountsEveryTap) {
  constexpr int64_t expected = 2 * (2 * 5) * (3 * 8 * 4);
  EXPECT_EQ(flops("%x: tensor<2x5x8xf32>, %w: tensor<3x8x4xf32>",
                  "%0 = tts.conv1d %x, %w {left = 1 : i64} : "
                  "tensor<2x5x8xf32>, tensor<3x8x4xf32> to tensor<2x5x4xf32>"),
            expected);
  EXPECT_EQ(flops("%dy: tensor<2x5x4xf32>, %w: tensor<3x8x4xf32>",
                  "%0 = tts.conv1d_input_grad %dy, %w {left = 1 : i64} : "
                  "tensor<2x5x4xf32>, tensor<3x8x4xf32> to tensor<2x5x8xf32>"),
            expected);
  EXPECT_EQ(flops("%x: tensor<2x5x8xf32>, %dy: tensor<2x5x4xf32>",
                  "%0 = tts.conv1d_filter_grad %x, %dy {left = 1 : i64} : "
                  "tensor<2x5x8xf32>, tensor<2x5x4xf32> to tensor<3x8x4xf32>"),
            expected);
}

TEST_F(ModelsTest, AttentionIsTwoMatmulsAndItsGradientFive) {
  constexpr int64_t scores = 2 * 5 * 5, heads = 4, channels = 8;
  EXPECT_EQ(flops("%q: tensor<2x5x8xf32>, %n: tensor<2xi32>",
                  "%0 = tts.attention %q, %q, %q, %n {heads = 4 : i64} : "
                  "tensor<2x5x8xf32>, tensor<2xi32>"),
            2 * 2 * scores * channels + 5 * scores * heads);
  EXPECT_EQ(flops("%q: tensor<2x5x8xf32>, %n: tensor<2xi32>",
                  "%0:3 = tts.attention_grad %q, %q, %q, %q, %n "
                  "{heads = 4 : i64} : tensor<2x5x8xf32>, tensor<2xi32>"),
            5 * 2 * scores * channels + 5 * scores * heads);
  // A query sees itself and what stands before it.
  constexpr int64_t below = 2 * 5 * 6 / 2;
  EXPECT_EQ(flops("%q: tensor<2x5x8xf32>, %n: tensor<2xi32>",
                  "%0 = tts.attention %q, %q, %q, %n {causal, heads = 4 : "
                  "i64} : tensor<2x5x8xf32>, tensor<2xi32>"),
            2 * 2 * below * channels + 5 * below * heads);
}

TEST_F(ModelsTest, ASymbolicSizeCountsAsOne) {
  EXPECT_EQ(flops("%x: tensor<?x8xf32, #tts.dims<batch, _>>, "
                  "%w: tensor<8x4xf32>",
                  "%0 = tts.linear %x, %w : tensor<?x8xf32, #tts.dims<batch, "
                  "_>>, tensor<8x4xf32> to tensor<?x4xf32, #tts.dims<batch, "
                  "_>>"),
            2 * 8 * 4);
}

TEST_F(ModelsTest, TimeMixingOpsReadTheirFirstOperandAcrossTime) {
  auto conv = cast<TimeMixingOpInterface>(
      parse("%x: tensor<2x5x8xf32>, %w: tensor<3x8x4xf32>",
            "%0 = tts.conv1d %x, %w {left = 1 : i64} : tensor<2x5x8xf32>, "
            "tensor<3x8x4xf32> to tensor<2x5x4xf32>"));
  EXPECT_EQ(conv.getTimeMixedOperands(), SmallVector<unsigned>{0});
  auto regulate = cast<TimeMixingOpInterface>(
      parse("%x: tensor<2x5x8xf32>, %d: tensor<2x5xi32>",
            "%0 = tts.length_regulate %x, %d : tensor<2x5x8xf32>, "
            "tensor<2x5xi32> to tensor<2x9x8xf32>"));
  EXPECT_EQ(regulate.getTimeMixedOperands(), SmallVector<unsigned>{0});
  // Keys beyond the lengths are left out by attention itself.
  EXPECT_FALSE(isa<TimeMixingOpInterface>(
      parse("%q: tensor<2x5x8xf32>, %n: tensor<2xi32>",
            "%0 = tts.attention %q, %q, %q, %n {heads = 4 : i64} : "
            "tensor<2x5x8xf32>, tensor<2xi32>")));
}

TEST_F(ModelsTest, DropoutIsItsOperandInEvaluation) {
  Operation *op = parse("%x: tensor<2x5xf32>, %u: tensor<2xi64>, "
                        "%draw: tensor<2xi64>",
                        "%0 = tts.dropout %x, %u, %draw {rate = 0.5 : f64, "
                        "stream = \"s\"} : tensor<2x5xf32>, tensor<2xi64>, "
                        "tensor<2xi64>");
  auto dropout = cast<TrainingOnlyOpInterface>(op);
  EXPECT_TRUE(dropout.actsInTrainingOnly());
  ASSERT_EQ(dropout.getEvaluationOperands(),
            SmallVector<Value>{op->getOperand(0)});
  OpBuilder builder(op);
  Value other = op->getOperand(1);
  EXPECT_EQ(dropout.buildEvaluation(builder, other), other);
}

TEST_F(ModelsTest, DroppedAttentionIsPlainInEvaluation) {
  Operation *op = parse(
      "%q: tensor<2x5x8xf32>, %n: tensor<2xi32>, %u: tensor<2xi64>, "
      "%draw: tensor<2xi64>",
      "%0 = tts.attention %q, %q, %q, %n dropout %u, %draw {heads = 4 : i64, "
      "causal, rate = 0.5 : f64, stream = \"s\"} : tensor<2x5x8xf32>, "
      "tensor<2xi32>, tensor<2xi64>, tensor<2xi64>");
  auto random = cast<TrainingOnlyOpInterface>(op);
  EXPECT_TRUE(random.actsInTrainingOnly());
  SmallVector<Value> operands = random.getEvaluationOperands();
  ASSERT_EQ(operands,
            SmallVector<Value>(op->operand_begin(), op->operand_begin() + 4));
  OpBuilder builder(op);
  auto plain =
      random.buildEvaluation(builder, operands).getDefiningOp<AttentionOp>();
  ASSERT_TRUE(plain);
  EXPECT_FALSE(
      cast<TrainingOnlyOpInterface>(plain.getOperation()).actsInTrainingOnly());
  EXPECT_EQ(plain->getNumOperands(), 4u);
  EXPECT_TRUE(plain.getCausal());
  EXPECT_EQ(plain.getHeads(), 4);
}
