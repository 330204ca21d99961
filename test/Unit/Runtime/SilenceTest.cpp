//===- SilenceTest.cpp - which silence of another rank is a death --------===//

#include "Runtime/Collectives/Silence.h"
#include <csignal>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tts::rt;

namespace {

void passes(Silence &silence, int count, double seconds) {
  for (int i = 0; i < count; ++i)
    silence.pass(seconds);
}

TEST(Silence, CountsTheTimeSinceAWord) {
  Silence silence;
  passes(silence, 100, 0.02);
  EXPECT_NEAR(silence.seconds(), 2, 1e-9);
  silence.end();
  EXPECT_EQ(silence.seconds(), 0);
}

TEST(Silence, WhoSleptHasHeardNobody) {
  Silence silence;
  passes(silence, 9, 0.95); // a processor that others hold for 95 %
  EXPECT_LE(silence.seconds(), 9 * Silence::longestPass + 1e-9);
  EXPECT_GT(silence.seconds(), 0);
}

TEST(Silence, WhoIsNotLetRunIsNotLost) {
  Silence silence;
  silence.look(ProcessState::Starved);
  passes(silence, 400, 0.02); // eight seconds
  EXPECT_LT(silence.seconds(), 1);
  silence.look(ProcessState::Elsewise); // stopped, or it waits for a word
  passes(silence, 400, 0.02);
  EXPECT_GT(silence.seconds(), 8);
}

TEST(Silence, AnEndIsSeenTwice) {
  Silence silence;
  silence.look(ProcessState::Gone);
  EXPECT_FALSE(silence.hasEnded());
  silence.look(ProcessState::Gone);
  EXPECT_TRUE(silence.hasEnded());
}

/// A child that waits until it is killed; its identity comes through a pipe.
struct Child {
  explicit Child(bool isBusy) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    pid = fork();
    if (pid == 0) {
      ProcessId own = ownProcess();
      if (write(ends[1], &own, sizeof(own)) < 0)
        _exit(1);
      for (volatile unsigned n = 0;; ++n)
        if (!isBusy)
          pause();
    }
    EXPECT_EQ(read(ends[0], &id, sizeof(id)), ssize_t(sizeof(id)));
    close(ends[0]);
    close(ends[1]);
  }
  ~Child() {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }

  /// Whether it comes to this within two seconds.
  bool becomes(ProcessState state) const {
    for (int i = 0; i < 200 && stateOf(id) != state; ++i)
      usleep(10000);
    return stateOf(id) == state;
  }

  pid_t pid;
  ProcessId id;
};

TEST(Process, IsSeenWaitingRunningAndGone) {
  Child waiting(/*isBusy=*/false), busy(/*isBusy=*/true);
  EXPECT_EQ(waiting.id.machine, ownProcess().machine);
  EXPECT_NE(waiting.id.process, ownProcess().process);
  EXPECT_TRUE(waiting.becomes(ProcessState::Elsewise));
  EXPECT_TRUE(busy.becomes(ProcessState::Starved));
  kill(waiting.pid, SIGKILL); // nobody asks for its exit code yet
  EXPECT_TRUE(waiting.becomes(ProcessState::Gone));
}

TEST(Process, IsAnotherWithAnotherStart) {
  ProcessId other = ownProcess();
  ++other.started;
  EXPECT_EQ(stateOf(ownProcess()),
            ProcessState::Starved); // it asks, so it runs
  EXPECT_EQ(stateOf(other), ProcessState::Gone);
}

} // namespace
