//===- CorpusTest.cpp - buckets' shares out of a histogram ---------------===//

#include "Driver/Corpus.h"

#include "gtest/gtest.h"

using namespace tts;

namespace {

Corpus makeCorpus() {
  Corpus corpus;
  corpus.histogram = {{2, 10, 6}, {4, 30, 2}, {9, 20, 2}};
  return corpus;
}

TEST(Corpus, AnUtteranceGoesToTheFirstBucketThatHoldsIt) {
  int64_t outside = -1;
  auto shares = makeCorpus().shares(
      {{{"text", 4}, {"frames", 20}}, {{"text", 9}, {"frames", 40}}}, outside);
  EXPECT_EQ(outside, 0);
  ASSERT_EQ(shares.size(), 2u);
  EXPECT_DOUBLE_EQ(shares[0], 0.6);
  EXPECT_DOUBLE_EQ(shares[1], 0.4);
}

TEST(Corpus, ADimensionThatABucketDoesNotNameIsNoLimit) {
  int64_t outside = -1;
  auto shares = makeCorpus().shares({{{"text", 4}}, {{"text", 9}}}, outside);
  EXPECT_DOUBLE_EQ(shares[0], 0.8);
}

TEST(Corpus, UtterancesOutsideAreCounted) {
  int64_t outside = -1;
  auto shares = makeCorpus().shares({{{"text", 4}}}, outside);
  EXPECT_EQ(outside, 2);
  EXPECT_DOUBLE_EQ(shares[0], 1);
}

TEST(Corpus, WithoutUtterancesSharesAreEqual) {
  int64_t outside = -1;
  auto shares = Corpus().shares({{{"text", 4}}, {{"text", 9}}}, outside);
  EXPECT_DOUBLE_EQ(shares[1], 0.5);
}

TEST(Corpus, AMissingDirectoryIsAnError) {
  auto corpus = readCorpus("/nowhere");
  ASSERT_FALSE(bool(corpus));
  EXPECT_EQ(llvm::toString(corpus.takeError()),
            "error: /nowhere/manifest.json: No such file or directory; give "
            "the directory that tts.data prepare wrote");
}

} // namespace
