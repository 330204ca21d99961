//===- CandidateTest.cpp - a bucket's candidates and their sum -----------===//

#include "tts/Transforms/Plan/Candidate.h"

#include "gtest/gtest.h"
#include <cmath>

using namespace tts::plan;

namespace {

TEST(Candidate, RungsArePowersOfTwoAndTheBatch) {
  EXPECT_EQ(microBatchRungs(16), (llvm::SmallVector<int64_t>{1, 2, 4, 8, 16}));
  EXPECT_EQ(microBatchRungs(12), (llvm::SmallVector<int64_t>{1, 2, 4, 8, 12}));
  EXPECT_EQ(microBatchRungs(1), (llvm::SmallVector<int64_t>{1}));
  EXPECT_EQ(microBatchRungs(16, 3), (llvm::SmallVector<int64_t>{3}));
  EXPECT_EQ(microBatchRungs(16, 64), (llvm::SmallVector<int64_t>{16}));
}

TEST(Candidate, ExpectedMicroBatches) {
  EXPECT_DOUBLE_EQ(expectedMicroBatches(16, 1, 4), 4);
  EXPECT_DOUBLE_EQ(expectedMicroBatches(16, 1, 5), 4);
  EXPECT_DOUBLE_EQ(expectedMicroBatches(16, 0, 4), 0);
  EXPECT_NEAR(expectedMicroBatches(16, 0.25, 1), 4, 1e-9);
  // One micro-batch whenever anyone comes.
  EXPECT_NEAR(expectedMicroBatches(16, 0.25, 16), 1 - std::pow(0.75, 16), 1e-9);
}

TEST(Candidate, PeaksAreJoinedExactly) {
  JointSettings settings;
  settings.batch = 4;
  settings.persistentBytes = 1000;
  settings.overheadBytes = 7;
  settings.primitiveBytes = 10;
  Candidate a;
  a.transientBytes = 300;
  a.batchBytes = {64, 100};
  a.primitives = {1, 2};
  a.microBatchSeconds = 1;
  Candidate b = a;
  b.transientBytes = 500;
  b.batchBytes = {128, 64};
  b.primitives = {2, 3};
  settings.states[TTS_CLASS_PARAMETERS] = 400;
  settings.states[TTS_CLASS_BUFFERS] = 4;
  settings.liveTransientBytes =
      settings.transientClasses[TTS_CLASS_ACTIVATIONS] = 1;
  a.liveTransientBytes = a.transientClasses[TTS_CLASS_ACTIVATIONS] = 290;
  b.liveTransientBytes = 470;
  b.transientClasses[TTS_CLASS_ACTIVATIONS] = 450;
  b.transientClasses[TTS_CLASS_WORKSPACE] = 20;
  JointChoice joint = joinCandidates(settings, {0.5, 0.5}, {&a, &b});
  EXPECT_EQ(joint.arenaBytes, 1000 + 500 + 128 + 128);
  EXPECT_EQ(joint.overheadBytes, 7 + 3 * 10);
  // The larger bucket's, the states of all, the region of both.
  ClassBytes classes = {};
  classes[TTS_CLASS_PARAMETERS] = 400;
  classes[TTS_CLASS_ACTIVATIONS] = 450;
  classes[TTS_CLASS_WORKSPACE] = 20;
  classes[TTS_CLASS_BATCH] = 228;
  classes[TTS_CLASS_BUFFERS] = 4;
  EXPECT_EQ(joint.classes, classes);
  EXPECT_EQ(joint.lowerBoundBytes, 400 + 450 + 20 + 228 + 4);
  EXPECT_EQ(joint.microBatchSeconds, (llvm::SmallVector<double>{1, 1}));
  // Where no bucket holds so much: what all of them share.
  settings.liveTransientBytes =
      settings.transientClasses[TTS_CLASS_ACTIVATIONS] = 480;
  joint = joinCandidates(settings, {0.5, 0.5}, {&a, &b});
  EXPECT_EQ(joint.classes[TTS_CLASS_ACTIVATIONS], 480);
  EXPECT_EQ(joint.classes[TTS_CLASS_WORKSPACE], 0);
  // Four utterances of either bucket on average in each update.
  EXPECT_NEAR(joint.stepSeconds, 4, 1e-9);
}

} // namespace
