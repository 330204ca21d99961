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
      : office(post), self(rank), all(ranks) {}
  int rank() const override { return self; }
  int ranks() const override { return all; }

  void start(int slot, const Transfer &t) override {
    ASSERT_FALSE(open[slot]) << "slot " << slot << " is under way";
    open[slot] = true;
    pending[slot] = t;
    if (!t.outBytes)
      return;
    std::lock_guard<std::mutex> lock(office.mutex);
    const char *out = static_cast<const char *>(t.out);
    office.boxes[{self, t.to, slot}].emplace_back(out, out + t.outBytes);
    sent += t.outBytes;
    office.changed.notify_all();
  }

  void wait(int slot) override {
    open[slot] = false;
    const Transfer &t = pending[slot];
    if (!t.inBytes)
      return;
    take({t.from, self, slot}, t.in, t.inBytes);
  }

  void post(int outbox, int to, int channel, const void *data,
            uint64_t bytes) override {
    ASSERT_FALSE(posted[outbox]) << "outbox " << outbox << " is in use";
    posted[outbox] = true;
    std::lock_guard<std::mutex> lock(office.mutex);
    const char *out = static_cast<const char *>(data);
    office.boxes[{self, to, slots + channel}].emplace_back(out, out + bytes);
    sent += bytes;
    office.changed.notify_all();
  }
  void finishPost(int outbox) override { posted[outbox] = false; }
  void receive(int from, int channel, void *data, uint64_t bytes) override {
    take({from, self, slots + channel}, data, bytes);
  }

private:
  void take(std::tuple<int, int, int> from, void *data, uint64_t bytes) {
    std::unique_lock<std::mutex> lock(office.mutex);
    auto &box = office.boxes[from];
    office.changed.wait(lock, [&] { return !box.empty(); });
    ASSERT_EQ(box.front().size(), bytes);
    std::memcpy(data, box.front().data(), bytes);
    box.pop_front();
  }

  Post &office;
  int self, all;
  std::map<int, bool> posted;
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
