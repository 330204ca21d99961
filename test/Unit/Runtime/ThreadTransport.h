//===- ThreadTransport.h - ranks that are threads ------------------------===//

#ifndef TTS_TEST_RUNTIME_THREADTRANSPORT_H
#define TTS_TEST_RUNTIME_THREADTRANSPORT_H

#include "Runtime/Collectives/Transport.h"
#include <condition_variable>
#include <cstring>
#include <deque>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <tuple>
#include <vector>

namespace tts::rt {

/// Messages between threads, by (from, to, slot), in order.
struct Post {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::tuple<int, int, int>, std::deque<std::vector<char>>> boxes;
};

class ThreadTransport : public Transport {
public:
  ThreadTransport(Post &post, int rank, int ranks)
      : post(post), self(rank), all(ranks) {}
  int rank() const override { return self; }
  int ranks() const override { return all; }

  void start(int slot, const Transfer &t) override {
    ASSERT_FALSE(open[slot]) << "slot " << slot << " is under way";
    open[slot] = true;
    pending[slot] = t;
    if (!t.outBytes)
      return;
    std::lock_guard<std::mutex> lock(post.mutex);
    const char *out = static_cast<const char *>(t.out);
    post.boxes[{self, t.to, slot}].emplace_back(out, out + t.outBytes);
    sent += t.outBytes;
    post.changed.notify_all();
  }

  void wait(int slot) override {
    open[slot] = false;
    const Transfer &t = pending[slot];
    if (!t.inBytes)
      return;
    std::unique_lock<std::mutex> lock(post.mutex);
    auto &box = post.boxes[{t.from, self, slot}];
    post.changed.wait(lock, [&] { return !box.empty(); });
    ASSERT_EQ(box.front().size(), t.inBytes);
    std::memcpy(t.in, box.front().data(), t.inBytes);
    box.pop_front();
  }

private:
  Post &post;
  int self, all;
  Transfer pending[slots] = {};
  bool open[slots] = {};
};

/// Runs body(rank, transport) on so many threads.
template <typename Body> void onRanks(int ranks, Body body) {
  Post post;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      body(rank, std::make_unique<ThreadTransport>(post, rank, ranks));
    });
  for (std::thread &thread : threads)
    thread.join();
}

} // namespace tts::rt

#endif // TTS_TEST_RUNTIME_THREADTRANSPORT_H
