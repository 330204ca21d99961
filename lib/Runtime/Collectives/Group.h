//===- Group.h - some of the ranks, as a transport of their own ----------===//

#ifndef TTS_RUNTIME_COLLECTIVES_GROUP_H
#define TTS_RUNTIME_COLLECTIVES_GROUP_H

#include "Runtime/Collectives/Transport.h"
#include <algorithm>
#include <utility>
#include <vector>

namespace tts::rt {

/// Ranks count from 0 inside the group. What is sent counts as the whole's.
class Group : public Transport {
public:
  /// `members` are ranks of `all`, this one among them; `number` tells groups
  /// apart whose members meet, 1 or 2.
  Group(Transport &all, std::vector<int> members, int number)
      : all(all), members(std::move(members)), shift(number * slotsOfGroup) {
    auto own =
        std::find(this->members.begin(), this->members.end(), all.rank());
    self = int(own - this->members.begin());
  }

  int rank() const override { return self; }
  int ranks() const override { return int(members.size()); }
  void start(int slot, const Transfer &t) override {
    Transfer whole = t;
    whole.to = members[size_t(t.to)];
    whole.from = members[size_t(t.from)];
    all.start(slot + shift, whole);
  }
  void wait(int slot) override { all.wait(slot + shift); }
  void post(int outbox, int to, int channel, const void *data,
            uint64_t bytes) override {
    all.post(outbox, members[size_t(to)], channel, data, bytes);
  }
  void finishPost(int outbox) override { all.finishPost(outbox); }
  void receive(int from, int channel, void *data, uint64_t bytes) override {
    all.receive(members[size_t(from)], channel, data, bytes);
  }
  void rehearsePosts(const std::vector<int> &ranks, int ahead) override {
    std::vector<int> wholes;
    for (int rank : ranks)
      wholes.push_back(members[size_t(rank)]);
    all.rehearsePosts(wholes, ahead);
  }

private:
  Transport &all;
  std::vector<int> members;
  int shift, self;
};

} // namespace tts::rt

#endif // TTS_RUNTIME_COLLECTIVES_GROUP_H
