//===- FailureTest.cpp - errors are one line -----------------------------===//

#include "Driver/Failure.h"

#include "gtest/gtest.h"

using namespace tts;

namespace {

std::string textOf(llvm::Error error) {
  return llvm::toString(std::move(error));
}

TEST(Failure, HasPlaceFaultAndAdvice) {
  EXPECT_EQ(textOf(badInput("m.mlir:3:5", "no such op", "correct it")),
            "error: m.mlir:3:5: no such op; correct it");
}

TEST(Failure, IsOneLineWhateverItsPartsHold) {
  EXPECT_EQ(textOf(badUsage("--x", "two\n  lines.\n", "do\tthis;")),
            "error: --x: two lines; do this");
}

TEST(Failure, TheExitCodeIsItsKind) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(reportFailure(badInput("a", "b", "c")), 1);
  EXPECT_EQ(reportFailure(badUsage("a", "b", "c")), 2);
  EXPECT_EQ(reportFailure(
                llvm::make_error<Failure>(ExitCode::Infeasible, "a", "b", "c")),
            3);
  EXPECT_EQ(reportFailure(llvm::Error::success()), 0);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "error: a: b; c\nerror: a: b; c\nerror: a: b; c\n");
}

TEST(Failure, OnlyTheFirstOfSeveralIsPrinted) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(reportFailure(llvm::joinErrors(badUsage("first", "b", "c"),
                                           badInput("second", "b", "c"))),
            2);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "error: first: b; c\n");
}

} // namespace
