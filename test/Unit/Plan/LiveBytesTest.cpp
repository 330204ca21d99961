//===- LiveBytesTest.cpp - the certificate's figures ---------------------===//

#include "tts/Transforms/Plan/LiveBytes.h"

#include "gtest/gtest.h"

using namespace tts::plan;

namespace {

/// zero, denominators, forward, backward, update, eval of one bucket.
const ProgramSpan kPrograms[] = {
    {TTS_PROGRAM_FORWARD, 0, 4}, {TTS_PROGRAM_BACKWARD, 0, 4},
    {TTS_PROGRAM_ZERO, -1, 1},   {TTS_PROGRAM_DENOMINATORS, 0, 1},
    {TTS_PROGRAM_UPDATE, -1, 2}, {TTS_PROGRAM_EVAL, 0, 3},
};

TEST(LiveBytes, NothingIsNothing) {
  LiveBytes live = measureLiveBytes({}, {});
  EXPECT_EQ(live.most, 0);
  EXPECT_EQ(live.program, -1);
}

TEST(LiveBytes, PersistentBytesCountAlways) {
  LiveRange w;
  w.size = 100;
  LiveBytes live = measureLiveBytes({}, {w});
  EXPECT_EQ(live.most, 100);
  EXPECT_EQ(live.classes[TTS_CLASS_PARAMETERS], 100);
}

TEST(LiveBytes, AStashSpansForwardAndBackward) {
  LiveRange w;
  w.size = 100;
  LiveRange stash{TTS_CLASS_ACTIVATIONS, 0, 1, 1, 2, 50};
  LiveRange early{TTS_CLASS_WORKSPACE, 0, 0, 0, 1, 10};
  LiveRange late{TTS_CLASS_WORKSPACE, 1, 1, 2, 3, 20};
  LiveBytes live = measureLiveBytes(kPrograms, {w, stash, early, late});
  EXPECT_EQ(live.most, 170);
  EXPECT_EQ(live.persistent, 100);
  EXPECT_EQ(live.classes[TTS_CLASS_ACTIVATIONS], 50);
  EXPECT_EQ(live.classes[TTS_CLASS_WORKSPACE], 20);
  EXPECT_EQ(live.program, 1);
  EXPECT_EQ(live.entry, 2);
}

TEST(LiveBytes, EndsAreInclusive) {
  LiveRange a{TTS_CLASS_ACTIVATIONS, 4, 4, 0, 0, 30};
  LiveRange b{TTS_CLASS_WORKSPACE, 4, 4, 1, 1, 40};
  EXPECT_EQ(measureLiveBytes(kPrograms, {a, b}).most, 40);
  a.lastEntry = 1;
  EXPECT_EQ(measureLiveBytes(kPrograms, {a, b}).most, 70);
}

TEST(LiveBytes, OfEqualPeaksTheFirstOnTheTimelineCounts) {
  // Table order is forward before zero; the timeline's is zero first.
  LiveRange forward{TTS_CLASS_ACTIVATIONS, 0, 0, 2, 2, 30};
  LiveRange zero{TTS_CLASS_WORKSPACE, 2, 2, 0, 0, 30};
  LiveBytes live = measureLiveBytes(kPrograms, {forward, zero});
  EXPECT_EQ(live.most, 30);
  EXPECT_EQ(live.program, 2);
  EXPECT_EQ(live.classes[TTS_CLASS_WORKSPACE], 30);
  EXPECT_EQ(live.classes[TTS_CLASS_ACTIVATIONS], 0);
}

TEST(LiveBytes, BucketsStandInAscendingOrder) {
  const ProgramSpan programs[] = {{TTS_PROGRAM_FORWARD, 1, 2},
                                  {TTS_PROGRAM_FORWARD, 0, 2}};
  LiveRange late{TTS_CLASS_ACTIVATIONS, 0, 0, 0, 1, 8};
  LiveRange early{TTS_CLASS_WORKSPACE, 1, 1, 0, 1, 8};
  EXPECT_EQ(measureLiveBytes(programs, {late, early}).program, 1);
}

TEST(LiveBytes, ClassesHaveTheirContractNames) {
  EXPECT_EQ(className(TTS_CLASS_PARAMETERS), "parameters");
  EXPECT_EQ(className(TTS_CLASS_EMA), "ema");
  EXPECT_EQ(className(TTS_CLASS_BUFFERS), "buffers");
}

} // namespace
