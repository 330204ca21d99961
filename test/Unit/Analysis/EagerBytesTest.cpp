//===- EagerBytesTest.cpp - bytes of an eager framework ------------------===//
//
// The figures are TTS.md §2's: bytes a token and block as PyTorch keeps them,
// and the table of a DiT of 500 M parameters.
//
//===----------------------------------------------------------------------===//

#include "tts/Analysis/EagerBytes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tts;

namespace {

/// Writes the forward pass of a stack of blocks.
class Stack {
public:
  Stack(int64_t channels, int64_t heads) : d(channels), heads(heads) {
    argument("%mel", "tensor<?x?x80xf32, #tts.dims<batch, frames, _>>",
             "tts.input = \"mel\"");
    argument("%n", "tensor<?xi32, #tts.dims<batch>>",
             "tts.input = \"n\", tts.lengths = \"frames\"");
    argument("%u", "tensor<?xi64, #tts.dims<batch>>",
             "tts.input = \"utterance\"");
    argument("%draw", "tensor<2xi64>", "tts.scalar = \"draw\"");
    argument("%clock", vector(d), "tts.input = \"clock\"");
  }

  std::string type(int64_t channels) const {
    return llvm::formatv("tensor<?x?x{0}xf32, #tts.dims<batch, frames, _>>",
                         channels);
  }
  std::string vector(int64_t channels) const {
    return llvm::formatv("tensor<?x{0}xf32, #tts.dims<batch, _>>", channels);
  }

  std::string linear(std::string x, int64_t in, int64_t out) {
    return contraction("tts.linear", x, llvm::formatv("{0}x{1}", in, out), "",
                       in, out);
  }
  std::string conv(std::string x, int64_t in, int64_t out, int64_t taps) {
    return contraction("tts.conv1d", x,
                       llvm::formatv("{0}x{1}x{2}", taps, in, out),
                       " {left = 0 : i64}", in, out);
  }
  /// A vector of an utterance, made of the clock, for every frame.
  std::string modulation(bool plusOne) {
    std::string w = parameter(llvm::formatv("{0}x{0}", d));
    std::string x = op(llvm::formatv("tts.linear %clock, {0} : {1}, "
                                     "tensor<{2}x{2}xf32> to {1}",
                                     w, vector(d), d));
    if (plusOne) {
      std::string one = op("tts.full 1.0 : " + vector(d));
      x = op(llvm::formatv("tts.add {0}, {1} : {2}", one, x, vector(d)));
    }
    return op(llvm::formatv("tts.broadcast {0} dims [0, 2] : {1} to {2}", x,
                            vector(d), type(d)));
  }
  std::string unary(const char *name, std::string x, int64_t channels) {
    return op(llvm::formatv("tts.{0} {1} : {2}", name, x, type(channels)));
  }
  std::string binary(const char *name, std::string x, std::string y) {
    return op(llvm::formatv("tts.{0} {1}, {2} : {3}", name, x, y, type(d)));
  }
  std::string mask(std::string x, int64_t channels) {
    return op(llvm::formatv("tts.mask {0}, %n : {1}, {2}", x, type(channels),
                            "tensor<?xi32, #tts.dims<batch>>"));
  }
  std::string dropout(std::string x, int64_t channels) {
    return op(llvm::formatv("tts.dropout {0}, %u, %draw {{rate = 0.1 : f64, "
                            "stream = \"s{1}\"} : {2}, tensor<?xi64, "
                            "#tts.dims<batch>>, tensor<2xi64>",
                            x, values, type(channels)));
  }
  std::string norm(std::string x) {
    std::string size = std::to_string(d);
    std::string gamma = parameter(size), beta = parameter(size);
    std::string results =
        op(llvm::formatv(
               "tts.layer_norm {0}, {1}, {2} {{epsilon = 1.0e-5 : f64} : {3}, "
               "tensor<{4}xf32> to tensor<?x?xf32, #tts.dims<batch, frames>>",
               x, gamma, beta, type(d), size),
           ":3");
    return results + "#0";
  }
  std::string attention(std::string x, bool isRotary) {
    std::string q = linear(x, d, d), k = linear(x, d, d), v = linear(x, d, d);
    if (isRotary) {
      std::string table =
          llvm::formatv("tensor<?x{0}xf32, #tts.dims<frames, _>>", d / heads);
      std::string angles = op("tts.sinusoid : " + table);
      for (std::string *side : {&q, &k})
        *side = op(llvm::formatv("tts.rotary {0}, {1} {{heads = {2} : i64} : "
                                 "{3}, {4}",
                                 *side, angles, heads, type(d), table));
    }
    std::string y = op(llvm::formatv(
        "tts.attention {0}, {1}, {2}, %n {{heads = {3} : i64} : {4}, "
        "tensor<?xi32, #tts.dims<batch>>",
        q, k, v, heads, type(d)));
    return linear(y, d, d);
  }

  /// AdaLN, attention with rotary positions, gate; AdaLN, GELU, gate.
  std::string ditBlock(std::string x, int64_t ff) {
    auto adaptive = [&](std::string in) {
      std::string scaled = binary("mul", norm(in), modulation(true));
      return binary("add", scaled, modulation(false));
    };
    auto gated = [&](std::string in, std::string out) {
      return binary("add", in, binary("mul", modulation(false), out));
    };
    x = gated(x, dropout(attention(adaptive(x), true), d));
    std::string wide = linear(adaptive(x), d, ff * d);
    wide = dropout(unary("gelu", wide, ff * d), ff * d);
    return gated(x, linear(wide, ff * d, d));
  }
  /// Pre-norm, GELU of four times the width.
  std::string gptBlock(std::string x) {
    x = binary("add", x, dropout(attention(norm(x), false), d));
    std::string wide = unary("gelu", linear(norm(x), d, 4 * d), 4 * d);
    return binary("add", x, dropout(linear(wide, 4 * d, d), d));
  }
  /// Post-norm with masks, convolutions of nine taps and one.
  std::string fastSpeechBlock(std::string x) {
    x = binary("add", dropout(attention(x, false), d), x);
    x = mask(norm(x), d);
    std::string wide = unary("relu", conv(x, d, 4 * d, 9), 4 * d);
    // The mask that Differentiate puts before a second convolution.
    wide = conv(mask(wide, 4 * d), 4 * d, d, 1);
    return mask(norm(binary("add", dropout(wide, d), x)), d);
  }

  std::string module(std::string result, int64_t frames) const {
    return llvm::formatv(
        "module attributes {{tts.buckets = [#tts.bucket<frames = {0}>]} {{\n"
        "func.func @forward({1}) -> ({2} {{tts.stash = \"y\"}) attributes "
        "{{tts.program = \"forward\"} {{\n{3}return {4} : {2}\n}\n}\n",
        frames, arguments, type(d), body, result);
  }

private:
  std::string op(std::string text, const char *results = "") {
    std::string name = "%v" + std::to_string(values++);
    body += name + results + " = " + text + "\n";
    return name;
  }
  void argument(std::string name, std::string type, std::string role) {
    arguments += (arguments.empty() ? "" : ", ") + name + ": " + type + " {" +
                 role + "}";
  }
  std::string parameter(std::string shape) {
    std::string name = "%p" + std::to_string(parameters++);
    argument(name, "tensor<" + shape + "xf32>", "tts.param = \"" + name + "\"");
    return name;
  }
  std::string contraction(const char *name, std::string x, std::string shape,
                          const char *attributes, int64_t in, int64_t out) {
    std::string w = parameter(shape), bias = parameter(std::to_string(out));
    std::string y =
        op(llvm::formatv("{0} {1}, {2}{3} : {4}, "
                         "tensor<{5}xf32> to {6}",
                         name, x, w, attributes, type(in), shape, type(out)));
    std::string all = op(llvm::formatv("tts.broadcast {0} dims [2] : "
                                       "tensor<{1}xf32> to {2}",
                                       bias, out, type(out)));
    return op(llvm::formatv("tts.add {0}, {1} : {2}", y, all, type(out)));
  }

  int64_t d, heads, values = 0, parameters = 0;
  std::string arguments, body;
};

using Block = std::string (*)(Stack &, std::string);

int64_t eager(Block block, int64_t depth, int64_t channels, int64_t heads,
              int64_t frames, int64_t batch, StringRef precision,
              int64_t states = 0) {
  Stack stack(channels, heads);
  std::string x = stack.linear("%mel", 80, channels);
  for (int64_t i = 0; i < depth; ++i)
    x = block(stack, x);
  MLIRContext context;
  context.loadDialect<func::FuncDialect, TtsDialect>();
  std::string text = stack.module(x, frames);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  EXPECT_TRUE(module) << text;
  return module ? countEagerBytes(*module, batch, precision, states) : 0;
}

constexpr int64_t kChannels = 128, kHeads = 2;

/// Of one block more, for one frame more: neither weights nor what belongs to
/// an utterance.
int64_t perToken(Block block, StringRef precision) {
  auto grows = [&](int64_t depth) {
    return eager(block, depth, kChannels, kHeads, 300, 1, precision) -
           eager(block, depth, kChannels, kHeads, 200, 1, precision);
  };
  return (grows(2) - grows(1)) / 100;
}

std::string dit(Stack &stack, std::string x) { return stack.ditBlock(x, 2); }
std::string wideDit(Stack &stack, std::string x) {
  return stack.ditBlock(x, 4);
}
std::string gpt(Stack &stack, std::string x) { return stack.gptBlock(x); }
std::string fastSpeech(Stack &stack, std::string x) {
  return stack.fastSpeechBlock(x);
}

/// Mean and deviation of two norms, log-sum-exp of each head.
constexpr int64_t kStatistics = 2 * 8 + 4 * kHeads;

TEST(EagerBytes, ADiTBlockKeepsWhatPyTorchKeeps) {
  EXPECT_EQ(perToken(dit, "fp32"), (53 + 9 * 2) * kChannels + kStatistics);
  EXPECT_EQ(perToken(dit, "bf16"), (39 + 5 * 2) * kChannels + kStatistics);
  EXPECT_EQ(perToken(wideDit, "fp32"), (53 + 9 * 4) * kChannels + kStatistics);
  EXPECT_EQ(perToken(wideDit, "fp16"), (39 + 5 * 4) * kChannels + kStatistics);
}

TEST(EagerBytes, AGptBlockKeepsWhatPyTorchKeeps) {
  EXPECT_EQ(perToken(gpt, "fp32"), 70 * kChannels + kStatistics);
  // Three products for q, k and v cast their operand three times, GPT's one
  // product once.
  EXPECT_EQ(perToken(gpt, "bf16"), (40 + 4) * kChannels + kStatistics);
}

TEST(EagerBytes, AFastSpeechBlockKeepsWhatPyTorchKeeps) {
  // Attention in one piece keeps its result twice, spelled out once; in the
  // stack x is no leaf, whose one cast q, k and v would share.
  EXPECT_EQ(perToken(fastSpeech, "fp32"), (50 + 4) * kChannels + kStatistics);
  EXPECT_EQ(perToken(fastSpeech, "bf16"),
            (30 + 2 + 4) * kChannels + kStatistics);
}

/// Of a last layer and its cross entropy over so many frames.
int64_t ofCrossEntropy(int64_t classes, int64_t frames) {
  std::string text = llvm::formatv(
      R"(module attributes {{tts.buckets = [#tts.bucket<frames = {1}>]} {{
        func.func @forward(%x: tensor<?x?x8xf32, #tts.dims<batch, frames, _>> {{tts.stash = "x"},
            %w: tensor<8x{0}xf32> {{tts.param = "w"}, %t: tensor<?x?xi32, #tts.dims<batch, frames>> {{tts.input = "t"},
            %n: tensor<?xi32, #tts.dims<batch>> {{tts.input = "n"})
            -> (tensor<f32> {{tts.loss = "l"}) attributes {{tts.program = "forward"} {{
          %s, %e = tts.linear_cross_entropy %x, %w, %t, %n : tensor<?x?x8xf32, #tts.dims<batch, frames, _>>, tensor<8x{0}xf32>, tensor<?x?xi32, #tts.dims<batch, frames>>, tensor<?xi32, #tts.dims<batch>> to tensor<f32>, tensor<?x?xf32, #tts.dims<batch, frames>>
          return %s : tensor<f32>
        }
      })",
      classes, frames);
  MLIRContext context;
  context.loadDialect<func::FuncDialect, TtsDialect>();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  EXPECT_TRUE(module) << text;
  return module ? countEagerBytes(*module, 1, "fp32", 0) : 0;
}

TEST(EagerBytes, CrossEntropyKeepsLogitsTwice) {
  auto perFrame = [](int64_t classes) {
    return (ofCrossEntropy(classes, 300) - ofCrossEntropy(classes, 200)) / 100;
  };
  // And one more for the gradient that backward starts with.
  EXPECT_EQ(perFrame(2000) - perFrame(1000), (8 + 4) * 1000);
}

TEST(EagerBytes, DoublePrecisionDoublesAllButMasksAndSums) {
  // Masks: one byte for d and 2 d; log-sum-exps.
  int64_t masks = 3 * kChannels + 4 * kHeads;
  EXPECT_EQ(perToken(dit, "fp64") - masks, 2 * (perToken(dit, "fp32") - masks));
}

TEST(EagerBytes, TheTableOfADiTOf500M) {
  constexpr int64_t parameters = 500'200'000;
  struct Row {
    int64_t batch;
    double fp32, bf16;
  };
  for (Row row : {Row{16, 38.7, 30.2}, Row{32, 69.3, 51.4}, Row{64, 131, 93.8}})
    for (auto [precision, gigabytes] :
         {std::pair("fp32", row.fp32), std::pair("bf16", row.bf16)}) {
      double bytes =
          eager(dit, 21, 1280, 20, 1000, row.batch, precision, 16 * parameters);
      EXPECT_NEAR(bytes / 1e9, gigabytes, 0.01 * gigabytes)
          << row.batch << " " << precision;
    }
}

} // namespace
