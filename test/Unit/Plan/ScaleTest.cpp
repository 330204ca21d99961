//===- ScaleTest.cpp - formulas of many ranks and their simulation -------===//

#include "tts/Transforms/Plan/Scale.h"

#include "gtest/gtest.h"

using namespace tts::plan;

namespace {

/// A link without latency that moves 1e9 bytes a second, between any ranks.
Hardware machine() {
  Hardware h;
  h.links = {{"wire", 0, 1e9, 0}};
  return h;
}

/// 10 pieces, 4 micro-batches of 1 + 2 s; parameters and gradients of 4e8
/// bytes.
ScaleWork work(int64_t ranks) {
  ScaleWork w;
  w.ranks = ranks;
  w.forwardSeconds = 1;
  w.backwardSeconds = 2;
  w.microBatches = 4;
  w.utterances = 8;
  w.updateSeconds = 0.5;
  w.parameterBytes = w.gradientBytes = 400'000'000;
  w.optimizerBytes = 800'000'000;
  w.activationBytes = 1'000'000'000;
  w.otherBytes = 100'000'000;
  w.boundaryBytes = 10'000'000;
  w.pieces = 10;
  w.overlaps = true;
  return w;
}

TEST(Scale, OneRankWaitsForNobody) {
  ScalePrediction p = predictScale(work(1), {1, 1, Sharding::None}, machine());
  EXPECT_DOUBLE_EQ(p.stepSeconds(), 4 * 3 + 0.5);
  EXPECT_EQ(p.exposedSeconds, 0);
  EXPECT_EQ(p.rankBytes, 2'700'000'000);
  EXPECT_EQ(p.sentBytes, 0);
}

TEST(Scale, SumsBehindBackwardShowTheirLastPieceOnly) {
  // A piece is summed in 2 · 3/4 · 0.04 s = 0.06 s, made in 0.2 s.
  ScaleWork w = work(4);
  ScalePrediction p = predictScale(w, {4, 1, Sharding::None}, machine());
  EXPECT_NEAR(p.exposedSeconds, 0.06, 1e-12);
  EXPECT_EQ(p.sentBytes, 600'000'000);
  w.overlaps = false;
  p = predictScale(w, {4, 1, Sharding::None}, machine());
  EXPECT_NEAR(p.exposedSeconds, 0.6, 1e-12);
  // On a link ten times as slow the last sum ends 10 · 0.6 - 9 · 0.2 s late.
  Hardware slow = machine();
  slow.links.front().bandwidth /= 10;
  w.overlaps = true;
  p = predictScale(w, {4, 1, Sharding::None}, slow);
  EXPECT_NEAR(p.exposedSeconds, 10 * 0.6 - 9 * 0.2, 1e-12);
}

TEST(Scale, ShardsDivideStatesAndSendWhatTheFormulaSays) {
  ScaleWork w = work(4);
  auto of = [&](Sharding sharding) {
    return predictScale(w, {4, 1, sharding}, machine());
  };
  EXPECT_EQ(of(Sharding::None).rankBytes, 2'700'000'000);
  EXPECT_EQ(of(Sharding::Optimizer).rankBytes, 2'100'000'000);
  EXPECT_EQ(of(Sharding::Gradients).rankBytes, 2'100'000'000 - 260'000'000);
  EXPECT_EQ(of(Sharding::Parameters).rankBytes, 1'100'000'000 + 100'000'000 +
                                                    100'000'000 + 40'000'000 +
                                                    200'000'000 + 80'000'000);
  // (N-1)/N times 2 P, with k micro-batches (k + 1) P and 3 k P.
  EXPECT_EQ(of(Sharding::Optimizer).sentBytes, 600'000'000);
  EXPECT_EQ(of(Sharding::Gradients).sentBytes, 1'500'000'000);
  EXPECT_EQ(of(Sharding::Parameters).sentBytes, 3'600'000'000);
  w.microBatches = 1;
  EXPECT_EQ(of(Sharding::Gradients).sentBytes, 600'000'000);
  EXPECT_EQ(of(Sharding::Parameters).sentBytes, 900'000'000);
}

TEST(Scale, StagesWaitForOneMicroBatchThereAndBack) {
  ScaleWork w = work(4);
  w.boundaryBytes = 0;
  ScalePrediction p = predictScale(w, {1, 4, Sharding::None}, machine());
  // 16 micro-batches of 0.75 s a stage (two pieces of 2.5 each).
  EXPECT_DOUBLE_EQ(p.bubbleSeconds, 3 * 0.75);
  EXPECT_DOUBLE_EQ(p.computeSeconds, 16 * 0.75 + 0.5 / 4);
  // Four begun micro-batches of a quarter of the layers.
  EXPECT_EQ(p.rankBytes, 400'000'000 + 1'000'000'000 + 100'000'000);
}

TEST(Scale, LayoutsUseAllRanks) {
  ScaleWork one = work(4);
  one.microBatches = 1;
  EXPECT_EQ(findLayouts(one).front().split, 1);
  EXPECT_EQ(findLayouts(one).back().split, 4);
  one.utterances = 3;
  EXPECT_EQ(findLayouts(one).back().split, 2);
  for (int64_t ranks : {1, 2, 6, 8, 1024}) {
    std::vector<ScaleLayout> layouts = findLayouts(work(ranks));
    EXPECT_EQ(layouts.size() > 1, ranks > 1);
    for (const ScaleLayout &layout : layouts)
      EXPECT_EQ(layout.data * layout.stages, ranks);
  }
}

/// The step by the formulas is within 2 % of the simulated one, from links that
/// are hidden to links that are all that counts.
TEST(Scale, FormulasAreTheSimulation) {
  int compared = 0;
  for (int64_t ranks : {2, 4, 8, 32, 1024})
    for (double bandwidth : {2e7, 2e8, 1e9, 1e11})
      for (auto [microBatches, pieces] :
           {std::pair(1.0, 10), {4.0, 16}, {16.0, 10}, {3.0, 1}, {1.0, 2}})
        for (bool overlaps : {false, true}) {
          Hardware h = machine();
          h.links.front().bandwidth = bandwidth;
          h.links.front().latency = 1e-5;
          ScaleWork w = work(ranks);
          w.microBatches = microBatches;
          w.pieces = pieces;
          w.overlaps = overlaps;
          w.boundaryBytes = int64_t(bandwidth / 100);
          for (const ScaleLayout &layout : findLayouts(w)) {
            double formula = predictScale(w, layout, h).stepSeconds();
            double simulated = simulateScale(w, layout, h);
            EXPECT_NEAR(formula / simulated, 1, 0.02)
                << ranks << " ranks, " << layout.stages << " stages, "
                << shardingName(layout.sharding).str() << ", " << bandwidth
                << " bytes/s, " << microBatches << " micro-batches, " << pieces
                << " pieces, overlap " << overlaps << ": " << formula << " and "
                << simulated;
            ++compared;
          }
        }
  EXPECT_GT(compared, 500);
}

} // namespace
