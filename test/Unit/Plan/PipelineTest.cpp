//===- PipelineTest.cpp - cuts of a chain, seconds of a pipeline ----------===//

#include "tts/Transforms/Plan/Pipeline.h"
#include "gtest/gtest.h"
#include <functional>
#include <random>

using namespace tts::plan;

namespace {

double costOf(llvm::ArrayRef<ChainOp> ops, int64_t stage, int64_t stages,
              Balance balance) {
  double cost = 0;
  for (const ChainOp &op : ops)
    cost += balance == Balance::Seconds
                ? op.seconds
                : double(op.stateBytes) +
                      double(op.keptBytes) * double(stages - stage);
  return cost;
}

double largest(llvm::ArrayRef<ChainOp> ops, llvm::ArrayRef<size_t> cuts,
               Balance balance) {
  int64_t stages = int64_t(cuts.size()) + 1;
  double most = 0;
  for (int64_t s = 0; s < stages; ++s) {
    size_t begin = s == 0 ? 0 : cuts[s - 1];
    size_t end = s + 1 == stages ? ops.size() : cuts[s];
    most = std::max(most,
                    costOf(ops.slice(begin, end - begin), s, stages, balance));
  }
  return most;
}

double bestOfAll(llvm::ArrayRef<ChainOp> ops, int64_t stages, Balance balance) {
  double best = 1e300;
  llvm::SmallVector<size_t> cuts;
  std::function<void()> extend = [&] {
    if (int64_t(cuts.size()) + 1 == stages) {
      best = std::min(best, largest(ops, cuts, balance));
      return;
    }
    for (size_t at = cuts.empty() ? 1 : cuts.back() + 1; at < ops.size();
         ++at) {
      cuts.push_back(at);
      extend();
      cuts.pop_back();
    }
  };
  extend();
  return best;
}

std::vector<ChainOp> randomChain(std::mt19937 &random, size_t length) {
  std::vector<ChainOp> ops(length);
  for (ChainOp &op : ops) {
    op.seconds = double(random() % 100 + 1);
    op.stateBytes = random() % 50;
    op.keptBytes = random() % 50 + 1;
  }
  return ops;
}

TEST(CutChain, LargestStageIsAsSmallAsCanBe) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<ChainOp> ops = randomChain(random, 4 + random() % 8);
    for (int64_t stages : {2, 3, 4})
      for (Balance balance : {Balance::Seconds, Balance::Bytes}) {
        auto cuts = cutChain(ops, stages, balance);
        ASSERT_EQ(int64_t(cuts.size()) + 1, stages);
        // Nothing crosses a cut, so none was moved.
        EXPECT_NEAR(largest(ops, cuts, balance),
                    bestOfAll(ops, stages, balance), 1e-9);
      }
  }
}

TEST(CutChain, TakesANarrowPlaceNearby) {
  std::vector<ChainOp> ops(200);
  for (ChainOp &op : ops)
    op.seconds = 1, op.crossingBytes = 100;
  ops[102].crossingBytes = 10; // within 2 % of the whole
  ops[110].crossingBytes = 1;  // not within
  auto cuts = cutChain(ops, 2, Balance::Seconds);
  ASSERT_EQ(cuts.size(), 1u);
  EXPECT_EQ(cuts[0], 102u);
}

TEST(CutChain, ThereAreFewerOpsThanStages) {
  std::vector<ChainOp> ops(3);
  EXPECT_TRUE(cutChain(ops, 4, Balance::Seconds).empty());
  EXPECT_EQ(cutChain(ops, 3, Balance::Seconds).size(), 2u);
}

TEST(PipelineSeconds, EqualStagesFillAndDrain) {
  for (int64_t stages : {1, 2, 4})
    for (int64_t microBatches : {1, 3, 8}) {
      std::vector<StageTimes> times(stages, {1, 2, 0, 0});
      EXPECT_DOUBLE_EQ(pipelineSeconds(times, microBatches),
                       3.0 * double(microBatches + stages - 1));
    }
}

TEST(PipelineSeconds, TheSlowestStageSetsThePace) {
  std::vector<StageTimes> times = {{1, 1, 0, 0}, {2, 4, 0, 0}};
  // Its own ten, one forward of the first before, one backward after.
  EXPECT_DOUBLE_EQ(pipelineSeconds(times, 10), 1 + 60 + 1);
}

TEST(PipelineSeconds, OneMicroBatchWaitsForEveryMessage) {
  std::vector<StageTimes> times = {{1, 1, 0.5, 0}, {1, 1, 0, 0.25}};
  EXPECT_DOUBLE_EQ(pipelineSeconds(times, 1), 4.75);
}

} // namespace
