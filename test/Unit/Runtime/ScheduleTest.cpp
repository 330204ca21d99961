//===- ScheduleTest.cpp - the learning rate and the generator ------------===//
//
// Reports 5 and 6: the rate is a function of the update's number alone.
//
//===----------------------------------------------------------------------===//

#include "Runtime/Train/Schedule.h"
#include "Runtime/Train/Random.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace tts::rt;

namespace {

Schedule make(const char *kind, double lr, int64_t warmup, int64_t updates) {
  Schedule schedule;
  EXPECT_TRUE(Schedule::parse(kind, schedule.kind));
  schedule.lr = lr;
  schedule.warmup = warmup;
  schedule.updates = updates;
  return schedule;
}

TEST(Schedule, WarmUpIsLinearInUpdates) {
  for (const char *kind : {"constant", "noam", "cosine"}) {
    Schedule schedule = make(kind, 1.0, 10, 100);
    EXPECT_DOUBLE_EQ(schedule.rate(1), 0.1) << kind;
    EXPECT_DOUBLE_EQ(schedule.rate(5), 0.5) << kind;
    EXPECT_DOUBLE_EQ(schedule.rate(10), 1.0) << kind;
  }
}

TEST(Schedule, AfterWarmUp) {
  EXPECT_DOUBLE_EQ(make("constant", 2.0, 10, 100).rate(77), 2.0);
  EXPECT_DOUBLE_EQ(make("noam", 1.0, 10, 100).rate(40), 0.5);
  EXPECT_DOUBLE_EQ(make("cosine", 1.0, 0, 100).rate(50), 0.5);
  EXPECT_NEAR(make("cosine", 1.0, 10, 110).rate(110), 0, 1e-15);
  EXPECT_NEAR(make("cosine", 1.0, 10, 110).rate(500), 0, 1e-15);
}

TEST(Schedule, NoWarmUpStartsAtThePeak) {
  for (const char *kind : {"constant", "noam"})
    EXPECT_DOUBLE_EQ(make(kind, 1.0, 0, 100).rate(1), 1.0) << kind;
}

TEST(Schedule, UnknownNamesAreRefused) {
  ScheduleKind kind;
  EXPECT_FALSE(Schedule::parse("linear", kind));
}

TEST(Random, PhiloxKnownAnswers) {
  // The vectors of Random123's kat_vectors for philox4x32-10.
  EXPECT_EQ(philox(Philox4{0, 0, 0, 0}, 0),
            (Philox4{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox(Philox4{~0u, ~0u, ~0u, ~0u}, ~uint64_t(0)),
            (Philox4{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox(Philox4{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                   0x299f31d0a4093822),
            (Philox4{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, NamesAndSeedsGiveKeys) {
  EXPECT_NE(hashKey(1, "a"), hashKey(1, "b"));
  EXPECT_NE(hashKey(1, "a"), hashKey(2, "a"));
  EXPECT_GT(toUniform(0), 0);
  EXPECT_LT(toUniform(~0u), 1);
}

} // namespace
