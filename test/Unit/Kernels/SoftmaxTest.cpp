//===- SoftmaxTest.cpp - softmax over valid keys, with dropout ------------===//

#include "Compiled.h"
#include "Philox.h"

using namespace tts::test;

namespace {

template <typename T> class Softmax : public ::testing::Test {};
TYPED_TEST_SUITE(Softmax, FloatTypes);

const int64_t kKeys[] = {1, 7, 31, 32, 33, 100};
/// Sizes of the blocks under test: two utterances, two heads, three queries of
/// which the first is number 5.
const int64_t kHeads = 2, kQueries = 3, kRows = 2 * kHeads * kQueries;
const int64_t kFirst = 5;
const double kRate = 0.3;
const std::string kStream = "decoder.0.attention";
const std::vector<int64_t> kUtterances = {12345678901, 7};
const std::vector<int64_t> kDraw = {42, 17};

template <typename T> std::string kernels() {
  std::string text;
  for (int64_t keys : kKeys)
    text += fill(R"(
      func.func private @softmax$K(%s: $X, %n: tensor<2xi32>) -> ($X {rt.tied = 0 : i64}) attributes {rt.kernel} {
        %p = tts.key_softmax %s, %n {scale = 0.5 : f64} : $X, tensor<2xi32>
        return %p : $X
      }
      func.func private @causal$K(%s: $X, %n: tensor<2xi32>) -> ($X {rt.tied = 0 : i64}) attributes {rt.kernel} {
        %p = tts.key_softmax %s, %n {scale = 0.5 : f64, causal, first_query = 5 : i64} : $X, tensor<2xi32>
        return %p : $X
      }
      func.func private @dropped$K(%s: $X, %n: tensor<2xi32>, %u: tensor<2xi64>, %d: tensor<2xi64>) -> ($X {rt.tied = 0 : i64}) attributes {rt.kernel} {
        %p = tts.key_softmax %s, %n dropout %u, %d {scale = 0.5 : f64, first_query = 5 : i64, rate = 0.3 : f64, stream = "$N"} : $X, tensor<2xi32>, tensor<2xi64>, tensor<2xi64>
        return %p : $X
      }
      func.func private @grad$K(%p: $X, %dp: $X) -> ($X {rt.tied = 1 : i64}) attributes {rt.kernel} {
        %ds = tts.key_softmax_grad %p, %dp {scale = 0.5 : f64} : $X
        return %ds : $X
      }
      func.func private @dropped_grad$K(%p: $X, %dp: $X, %u: tensor<2xi64>, %d: tensor<2xi64>) -> ($X {rt.tied = 1 : i64}, $X {rt.tied = 0 : i64}) attributes {rt.kernel} {
        %ds, %q = tts.key_softmax_grad %p, %dp dropout %u, %d {scale = 0.5 : f64, first_query = 5 : i64, rate = 0.3 : f64, stream = "$N"} : $X, tensor<2xi64>, tensor<2xi64> to $X
        return %ds, %q : $X, $X
      }
      func.func private @grouped_causal$K(%s: $G, %n: tensor<2xi32>) -> ($G {rt.tied = 0 : i64}) attributes {rt.kernel} {
        %p = tts.key_softmax %s, %n {scale = 0.5 : f64, causal, first_query = 5 : i64, group = 2 : i64} : $G, tensor<2xi32>
        return %p : $G
      }
      func.func private @grouped_dropped$K(%s: $G, %n: tensor<2xi32>, %u: tensor<2xi64>, %d: tensor<2xi64>) -> ($G {rt.tied = 0 : i64}) attributes {rt.kernel} {
        %p = tts.key_softmax %s, %n dropout %u, %d {scale = 0.5 : f64, first_query = 5 : i64, group = 2 : i64, rate = 0.3 : f64, stream = "$N"} : $G, tensor<2xi32>, tensor<2xi64>, tensor<2xi64>
        return %p : $G
      }
      func.func private @grouped_dropped_grad$K(%p: $G, %dp: $G, %u: tensor<2xi64>, %d: tensor<2xi64>) -> ($G {rt.tied = 1 : i64}, $G {rt.tied = 0 : i64}) attributes {rt.kernel} {
        %ds, %q = tts.key_softmax_grad %p, %dp dropout %u, %d {scale = 0.5 : f64, first_query = 5 : i64, group = 2 : i64, rate = 0.3 : f64, stream = "$N"} : $G, tensor<2xi64>, tensor<2xi64> to $G
        return %ds, %q : $G, $G
      })",
                 {{"X", "tensor<2x2x3x" + std::to_string(keys) + "x" +
                            nameOf<T>() + ">"},
                  {"G", "tensor<2x1x6x" + std::to_string(keys) + "x" +
                            nameOf<T>() + ">"},
                  {"K", std::to_string(keys)},
                  {"N", kStream}});
  return text;
}

int64_t utteranceOf(int64_t row) { return row / (kHeads * kQueries); }

/// Whether dropout keeps an element of the blocks.
bool isKept(int64_t row, int64_t key) {
  uint64_t hash = keyOf(kDraw[0], kStream);
  int64_t head = row / kQueries % kHeads, query = kFirst + row % kQueries;
  Words words =
      philox({uint32_t(kDraw[1]), uint32_t(kUtterances[utteranceOf(row)]),
              uint32_t(query), uint32_t(head << 24 | key / 4)},
             uint32_t(hash), uint32_t(hash >> 32));
  return words[key % 4] >= uint32_t(std::floor(kRate * 4294967296.0));
}

/// The softmax of 0.5 · scores over the first `valid` keys of a row.
template <typename T>
std::vector<double> softmax(const T *scores, int64_t valid) {
  double highest = -1e300, sum = 0;
  for (int64_t k = 0; k < valid; ++k)
    highest = std::max(highest, 0.5 * double(scores[k]));
  std::vector<double> p;
  for (int64_t k = 0; k < valid; ++k)
    p.push_back(std::exp(0.5 * double(scores[k]) - highest));
  for (double x : p)
    sum += x;
  for (double &x : p)
    x /= sum;
  return p;
}

/// Runs a kernel on scores that are not numbers behind the valid keys of a row,
/// `valid(row)`, and compares.
template <typename T, typename Fn>
void checkValidKeys(const Kernel &kernel, int64_t keys,
                    std::vector<int32_t> lengths, Fn valid) {
  std::vector<T> scores = random<T>(kRows * keys, 1, 20), original = scores;
  for (int64_t i = 0; i < kRows * keys; ++i)
    if (i % keys >= valid(i / keys))
      scores[i] = std::numeric_limits<T>::quiet_NaN();
  run(kernel, {scores, lengths});
  for (int64_t row = 0; row < kRows; ++row) {
    auto expected = softmax(original.data() + row * keys, valid(row));
    for (int64_t k = 0; k < keys; ++k) {
      T p = scores[row * keys + k];
      if (k >= valid(row))
        ASSERT_TRUE(same(p, T(0))) << "key " << k << " of row " << row;
      else
        ASSERT_NEAR(p, expected[k], 20 * std::numeric_limits<T>::epsilon());
    }
  }
}

TYPED_TEST(Softmax, OverValidKeysOnly) {
  using T = TypeParam;
  Compiled compiled(kernels<T>());
  for (int64_t keys : kKeys)
    for (int64_t length : {int64_t(0), int64_t(1), keys / 2, keys}) {
      std::vector<int32_t> lengths = {int32_t(length), int32_t(keys)};
      checkValidKeys<T>(compiled["softmax" + std::to_string(keys)], keys,
                        lengths,
                        [&](int64_t row) { return lengths[utteranceOf(row)]; });
    }
}

TYPED_TEST(Softmax, CausalUpToTheQuery) {
  using T = TypeParam;
  Compiled compiled(kernels<T>());
  for (int64_t keys : kKeys)
    for (int64_t length : {int64_t(0), int64_t(6), keys}) {
      std::vector<int32_t> lengths = {int32_t(std::min(length, keys)),
                                      int32_t(keys)};
      checkValidKeys<T>(compiled["causal" + std::to_string(keys)], keys,
                        lengths, [&](int64_t row) {
                          return std::min<int64_t>(lengths[utteranceOf(row)],
                                                   kFirst + row % kQueries + 1);
                        });
    }
}

/// The same bits as without dropout, then scaled or zero.
TYPED_TEST(Softmax, DropsByTheCountersOfQueryKeyAndHead) {
  using T = TypeParam;
  Compiled compiled(kernels<T>());
  for (int64_t keys : kKeys) {
    std::vector<int32_t> lengths = {int32_t(keys), int32_t(keys / 2)};
    std::vector<int64_t> utterances = kUtterances, draw = kDraw;
    std::vector<T> scores = random<T>(kRows * keys, 1), expected = scores;
    run(compiled["softmax" + std::to_string(keys)], {expected, lengths});
    for (int64_t i = 0; i < kRows * keys; ++i)
      expected[i] =
          isKept(i / keys, i % keys) ? expected[i] * T(1 / (1 - kRate)) : T(0);
    run(compiled["dropped" + std::to_string(keys)],
        {scores, lengths, utterances, draw});
    expectSame(scores, expected, "keys " + std::to_string(keys));
  }
}

/// Rows of two heads in a row, [utterance, head, query], as those of one key
/// head, [utterance, query, head of the group].
template <typename T>
std::vector<T> grouped(const std::vector<T> &rows, int64_t keys) {
  std::vector<T> moved(rows.size());
  for (int64_t i = 0; i < int64_t(rows.size()); ++i) {
    int64_t row = i / keys, query = row % kQueries,
            head = row / kQueries % kHeads;
    moved[((utteranceOf(row) * kQueries + query) * kHeads + head) * keys +
          i % keys] = rows[i];
  }
  return moved;
}

/// Two query heads on one key head: the bits of two heads with keys of their
/// own, causal and dropped alike.
TYPED_TEST(Softmax, GroupsOfHeads) {
  using T = TypeParam;
  Compiled compiled(kernels<T>());
  std::vector<int64_t> utterances = kUtterances, draw = kDraw;
  for (int64_t keys : kKeys) {
    std::string suffix = std::to_string(keys);
    std::vector<int32_t> lengths = {int32_t(keys), int32_t(keys / 2)};
    std::vector<T> scores = random<T>(kRows * keys, 1),
                   together = grouped(scores, keys);
    run(compiled["causal" + suffix], {scores, lengths});
    run(compiled["grouped_causal" + suffix], {together, lengths});
    expectSame(together, grouped(scores, keys), "causal" + suffix);
    run(compiled["dropped" + suffix], {scores, lengths, utterances, draw});
    run(compiled["grouped_dropped" + suffix],
        {together, lengths, utterances, draw});
    expectSame(together, grouped(scores, keys), "dropped" + suffix);
    std::vector<T> gradient = random<T>(kRows * keys, 2),
                   gradients = grouped(gradient, keys);
    run(compiled["dropped_grad" + suffix],
        {scores, gradient, utterances, draw});
    run(compiled["grouped_dropped_grad" + suffix],
        {together, gradients, utterances, draw});
    expectSame(gradients, grouped(gradient, keys), "gradient" + suffix);
    expectSame(together, grouped(scores, keys), "again" + suffix);
  }
}

TYPED_TEST(Softmax, GradientBitForBit) {
  using T = TypeParam;
  Compiled compiled(kernels<T>());
  for (int64_t keys : kKeys) {
    std::vector<T> p = random<T>(kRows * keys, 1),
                   dp = random<T>(kRows * keys, 2), expected(dp.size());
    for (int64_t row = 0; row < kRows; ++row) {
      T sum = laneSum<T>(1, keys, [&](int64_t k) {
        return p[row * keys + k] * dp[row * keys + k];
      });
      for (int64_t i = row * keys; i < (row + 1) * keys; ++i)
        expected[i] = (T(0.5) * p[i]) * (dp[i] - sum);
    }
    run(compiled["grad" + std::to_string(keys)], {p, dp});
    expectSame(dp, expected);
  }
}

/// Probabilities of zero, dropped or not, stay zero.
TYPED_TEST(Softmax, DroppedGradientBitForBit) {
  using T = TypeParam;
  Compiled compiled(kernels<T>());
  for (int64_t keys : kKeys) {
    std::vector<int64_t> utterances = kUtterances, draw = kDraw;
    std::vector<T> p = random<T>(kRows * keys, 1),
                   dp = random<T>(kRows * keys, 2);
    for (size_t i = 0; i < p.size(); ++i)
      p[i] = i % 5 == 0 ? T(0) : std::fabs(p[i]);
    std::vector<T> scores(p.size()), dropped(p.size());
    const T up = T(1 / (1 - kRate));
    for (int64_t row = 0; row < kRows; ++row) {
      auto gradient = [&](int64_t k) {
        return isKept(row, k) ? dp[row * keys + k] * up : T(0);
      };
      T sum = laneSum<T>(
          1, keys, [&](int64_t k) { return p[row * keys + k] * gradient(k); });
      for (int64_t k = 0; k < keys; ++k) {
        int64_t i = row * keys + k;
        scores[i] = (T(0.5) * p[i]) * (gradient(k) - sum);
        dropped[i] = isKept(row, k) ? p[i] * up : T(0);
      }
    }
    run(compiled["dropped_grad" + std::to_string(keys)],
        {p, dp, utterances, draw});
    expectSame(dp, scores, "scores of " + std::to_string(keys));
    expectSame(p, dropped, "probabilities of " + std::to_string(keys));
  }
}

} // namespace
