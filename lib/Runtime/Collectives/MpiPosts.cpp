//===- MpiPosts.cpp - messages that go on while a rank computes -----------===//

#include "Runtime/Collectives/MpiPosts.h"
#include "Runtime/Memory/SmallThread.h"
#include <algorithm>
#include <sched.h>
#include <unistd.h>

namespace tts::rt {

namespace {

/// Makes way for others: at first little, then for long.
void makeWay(int tries) {
  if (tries > 200)
    usleep(100); // the other rank is not there yet
  else if (tries > 100)
    sched_yield();
}

} // namespace

void waitForAll(MPI_Request *requests, int count) {
  for (int tries = 0;; ++tries) {
    int isThrough = 0;
    checkMpi(MPI_Testall(count, requests, &isThrough, MPI_STATUSES_IGNORE),
             "MPI_Testall");
    if (isThrough)
      return;
    makeWay(tries);
  }
}

MpiPosts::MpiPosts() {
  checkMpi(MPI_Comm_dup(MPI_COMM_WORLD, &comm), "MPI_Comm_dup");
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  open.reserve(1024); // more than there are outboxes, before training
  thread = startSmallThread(enter, this, "messages between stages");
}

MpiPosts::~MpiPosts() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    stopping = true;
  }
  changed.notify_all();
  pthread_join(thread, nullptr);
}

bool MpiPosts::isOpen(int outbox) const {
  return std::any_of(open.begin(), open.end(),
                     [&](const Open &one) { return one.outbox == outbox; });
}

/// Forgets the messages that are through.
void MpiPosts::test() {
  for (size_t i = 0; i < open.size();) {
    int isThrough = 0;
    int result = MPI_Test(&open[i].request, &isThrough, MPI_STATUS_IGNORE);
    if (result != MPI_SUCCESS)
      status = result;
    if (isThrough)
      open.erase(open.begin() + long(i));
    else
      ++i;
  }
}

void MpiPosts::post(int outbox, int to, int channel, const void *data,
                    uint64_t bytes) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    MPI_Request request = MPI_REQUEST_NULL;
    checkMpi(MPI_Isend(data, int(bytes), MPI_BYTE, to, channel, comm, &request),
             "MPI_Isend");
    open.push_back({outbox, request});
    test(); // a small one is through
    if (open.empty())
      return;
  }
  changed.notify_all();
}

void MpiPosts::finish(int outbox) {
  for (int tries = 0;; ++tries) {
    {
      std::lock_guard<std::mutex> lock(mutex);
      test();
      checkMpi(status, "MPI_Test");
      if (!isOpen(outbox))
        return;
    }
    makeWay(tries);
  }
}

void MpiPosts::receive(int from, int channel, void *data, uint64_t bytes) {
  MPI_Request request = MPI_REQUEST_NULL;
  checkMpi(MPI_Irecv(data, int(bytes), MPI_BYTE, from, channel, comm, &request),
           "MPI_Irecv");
  waitForAll(&request, 1);
}

void MpiPosts::rehearse(const std::vector<int> &members, int ahead) {
  constexpr int sizes[] = {64, 1000, 3500, 16000, 60000, 1 << 20};
  int self = 0;
  MPI_Comm_rank(comm, &self);
  std::vector<char> out(1 << 20), in(1 << 20);
  for (int size : sizes) {
    std::vector<MPI_Request> requests;
    auto forAll = [&](auto each) {
      for (int peer : members)
        for (int tag = 0; peer != self && tag < ahead; ++tag)
          each(peer, tag);
    };
    forAll([&](int peer, int tag) {
      checkMpi(MPI_Isend(out.data(), size, MPI_BYTE, peer, tag, comm,
                         &requests.emplace_back()),
               "MPI_Isend");
    });
    forAll([&](int peer, int tag) { // the last: all have come
      for (int isThere = 0; tag + 1 == ahead && !isThere; sched_yield())
        checkMpi(MPI_Iprobe(peer, tag, comm, &isThere, MPI_STATUS_IGNORE),
                 "MPI_Iprobe");
    });
    forAll([&](int peer, int tag) {
      checkMpi(MPI_Recv(in.data(), size, MPI_BYTE, peer, tag, comm,
                        MPI_STATUS_IGNORE),
               "MPI_Recv");
    });
    waitForAll(requests.data(), int(requests.size()));
  }
}

void MpiPosts::work() {
  constexpr useconds_t pause = 200;
  std::unique_lock<std::mutex> lock(mutex);
  while (!stopping) {
    if (open.empty() || status != MPI_SUCCESS) {
      changed.wait(lock);
      continue;
    }
    test();
    lock.unlock();
    usleep(pause);
    lock.lock();
  }
}

void *MpiPosts::enter(void *self) {
  static_cast<MpiPosts *>(self)->work();
  return nullptr;
}

} // namespace tts::rt
