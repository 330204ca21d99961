//===- SharedTest.cpp - kernels that share code compute the same bits -----===//

#include "Compiled.h"

using namespace tts::test;

namespace {

/// Dropout with a residual over `time` steps, drawing from `stream`.
std::string dropout(const std::string &name, int64_t batch, int64_t time,
                    const std::string &stream) {
  return fill(R"(
    func.func private @$name(%x: tensor<$Bx$Tx40xf32>, %y: tensor<$Bx$Tx40xf32>, %u: tensor<$Bxi64>, %d: tensor<2xi64>) -> tensor<$Bx$Tx40xf32> attributes {rt.kernel} {
      %0 = tts.dropout %x, %u, %d {rate = 0.25 : f64, stream = "$stream"} : tensor<$Bx$Tx40xf32>, tensor<$Bxi64>, tensor<2xi64>
      %1 = tts.add %0, %y : tensor<$Bx$Tx40xf32>
      return %1 : tensor<$Bx$Tx40xf32>
    })",
              {{"name", name},
               {"B", std::to_string(batch)},
               {"T", std::to_string(time)},
               {"stream", stream}});
}

/// A softmax with a factor that no other has; 70 or 134 keys: two and four
/// whole chunks and a rest of six.
std::string softmax(const std::string &name, int64_t keys, double scale) {
  return fill(R"(
    func.func private @$name(%s: tensor<1x2x3x$Kxf32>, %n: tensor<1xi32>) -> (tensor<1x2x3x$Kxf32> {rt.tied = 0 : i64}) attributes {rt.kernel} {
      %p = tts.key_softmax %s, %n {scale = $scale : f64} : tensor<1x2x3x$Kxf32>, tensor<1xi32>
      return %p : tensor<1x2x3x$Kxf32>
    })",
              {{"name", name},
               {"K", std::to_string(keys)},
               {"scale", std::to_string(scale)}});
}

TEST(Shared, DropoutOfOtherSizesAndStreams) {
  struct Case {
    std::string name;
    int64_t batch, time;
    std::string stream;
  } cases[] = {{"a", 2, 7, "one"}, {"b", 2, 7, "two"}, {"c", 3, 12, "one"}};
  std::string together;
  for (const Case &c : cases)
    together += dropout(c.name, c.batch, c.time, c.stream);
  Compiled shared(together);
  std::vector<std::vector<float>> results;
  for (const Case &c : cases) {
    size_t count = c.batch * c.time * 40;
    std::vector<float> x = random<float>(count, 1), y = random<float>(count, 2),
                       actual(count), expected(count);
    std::vector<int64_t> utterances(c.batch), draw = {11, 5};
    for (int64_t i = 0; i < c.batch; ++i)
      utterances[i] = 100 + i;
    Compiled alone(dropout(c.name, c.batch, c.time, c.stream));
    run(alone[c.name], {x, y, utterances, draw, expected});
    run(shared[c.name], {x, y, utterances, draw, actual});
    expectSame(actual, expected, c.name);
    EXPECT_EQ(shared[c.name].range, alone[c.name].range);
    results.push_back(actual);
  }
  EXPECT_NE(results[0], results[1]) << "two streams drew the same";
}

TEST(Shared, SoftmaxOfOtherLengthsAndFactors) {
  struct Case {
    std::string name;
    int64_t keys;
    double scale;
  } cases[] = {{"a", 70, 0.5}, {"b", 134, 0.5}, {"c", 134, 0.3}};
  std::string together;
  for (const Case &c : cases)
    together += softmax(c.name, c.keys, c.scale);
  Compiled shared(together);
  for (const Case &c : cases) {
    std::vector<float> expected = random<float>(6 * c.keys, 3, 4),
                       actual = expected;
    std::vector<int32_t> length = {int32_t(c.keys - 9)};
    Compiled alone(softmax(c.name, c.keys, c.scale));
    run(alone[c.name], {expected, length});
    run(shared[c.name], {actual, length});
    expectSame(actual, expected, c.name);
  }
}

} // namespace
