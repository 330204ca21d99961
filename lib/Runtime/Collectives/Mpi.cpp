//===- Mpi.cpp - messages by MPI, and a watch over the other ranks --------===//
//
// MPI carries the bytes; what it does when a rank is gone differs from one
// transport below it to the next (over shared memory: nothing, for ever). So a
// thread of each rank sends a beat to the others and listens to theirs. It goes
// on while this rank computes, reads or saves, and stops when it is killed,
// stopped or cut off. Of ranks on its own machine it also sees whether their
// processes are there and whether they wait for the processor.
//
//===----------------------------------------------------------------------===//

#include "Runtime/Abi/Error.h"
#include "Runtime/Collectives/MpiPosts.h"
#include "Runtime/Collectives/Silence.h"
#include "Runtime/Collectives/World.h"
#include "Runtime/Memory/SmallThread.h"
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <string>
#include <unistd.h>
#include <vector>

namespace tts::rt {

namespace {

using Clock = std::chrono::steady_clock;

/// What a beat says: all is well, all is done, or the exit code of a failure.
enum Beat { Alive = 0, Done = -1 };

/// Seconds without a beat after which a rank counts as lost; 0: never.
double readTimeout() {
  const char *text = std::getenv("TTS_RANK_TIMEOUT");
  return text ? std::atof(text) : 10;
}

class Watch {
public:
  Watch(int rank, int ranks);
  ~Watch();

  /// From now on beats say this; returns when every rank was told, or a second
  /// later.
  void say(int beat);

private:
  struct Peer {
    Silence silence;
    ProcessId id;
    bool isVisible = false; ///< its process, from here
    MPI_Request request = MPI_REQUEST_NULL;
    int telling = Alive, told = Alive; ///< what the request carries; carried
    bool isDone = false;
  };
  static void *enter(void *self);
  void introduce();
  void work();
  void listen();
  void tell(bool isTime);
  void look();
  void lookForLost(double seconds);
  [[noreturn]] void end(int peer, const std::string &what);

  int rank;
  double timeout = readTimeout();
  MPI_Comm comm;
  std::vector<Peer> peers;
  std::atomic<int> beat{Alive}, everyoneKnows{Alive};
  std::atomic<bool> stopping{false};
  std::atomic<bool> isNamed{false}, areIntroduced{false};
  ProcessId own; ///< once isNamed
  pthread_t thread;
};

Watch::Watch(int rank, int ranks) : rank(rank), peers(size_t(ranks)) {
  checkMpi(MPI_Comm_dup(MPI_COMM_WORLD, &comm), "MPI_Comm_dup");
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  thread = startSmallThread(enter, this, "watch over the ranks");
  introduce();
}

/// Who is on this machine, too, and can be seen.
void Watch::introduce() {
  while (!isNamed)
    usleep(100);
  std::vector<ProcessId> ids(peers.size());
  checkMpi(MPI_Allgather(&own, sizeof(own), MPI_BYTE, ids.data(), sizeof(own),
                         MPI_BYTE, comm),
           "MPI_Allgather");
  for (size_t r = 0; r < peers.size(); ++r) {
    peers[r].id = ids[r];
    peers[r].isVisible =
        ids[r].machine == own.machine && stateOf(ids[r]) != ProcessState::Gone;
  }
  areIntroduced = true;
}

Watch::~Watch() {
  stopping = true;
  pthread_join(thread, nullptr);
}

void Watch::say(int what) {
  beat = what;
  for (int i = 0; i < 100 && everyoneKnows != what; ++i)
    usleep(10000);
}

void *Watch::enter(void *self) {
  static_cast<Watch *>(self)->work();
  return nullptr;
}

void Watch::work() {
  constexpr useconds_t pause = 20000;
  constexpr std::chrono::milliseconds perBeat(400);
  own = ownProcess();
  isNamed = true;
  Clock::time_point last = Clock::now(), lastBeat = last - perBeat;
  while (!stopping) {
    // By the clock: one that is rarely let run must not beat rarely, too.
    bool isTime = Clock::now() - lastBeat >= perBeat;
    if (isTime)
      lastBeat = Clock::now();
    listen();
    tell(isTime);
    if (isTime && areIntroduced)
      look();
    Clock::time_point now = Clock::now();
    lookForLost(std::chrono::duration<double>(now - last).count());
    last = now;
    usleep(pause);
  }
}

void Watch::listen() {
  for (;;) {
    int isThere = 0, what = Alive;
    MPI_Status status;
    if (MPI_Iprobe(MPI_ANY_SOURCE, 0, comm, &isThere, &status) != MPI_SUCCESS ||
        !isThere)
      return;
    MPI_Recv(&what, 1, MPI_INT, status.MPI_SOURCE, 0, comm, MPI_STATUS_IGNORE);
    Peer &peer = peers[size_t(status.MPI_SOURCE)];
    peer.silence.end();
    peer.isDone = what == Done;
    if (what > 0 && beat <= 0)
      end(status.MPI_SOURCE,
          "ended with exit code " + std::to_string(what) + ", see its message");
  }
}

/// A beat to everyone, or only what they do not know yet.
void Watch::tell(bool isTime) {
  int now = beat;
  bool all = true;
  for (int r = 0; r < int(peers.size()); ++r) {
    Peer &peer = peers[size_t(r)];
    int isThrough = 0;
    if (r == rank)
      continue;
    MPI_Test(&peer.request, &isThrough, MPI_STATUS_IGNORE);
    if (isThrough)
      peer.told = peer.telling;
    all &= peer.told == now;
    if (!isThrough || (peer.told == now && !isTime))
      continue;
    peer.telling = now;
    MPI_Isend(&peer.telling, 1, MPI_INT, r, 0, comm, &peer.request);
  }
  if (all)
    everyoneKnows = now;
}

void Watch::look() {
  for (Peer &peer : peers)
    if (peer.isVisible)
      peer.silence.look(stateOf(peer.id));
}

void Watch::lookForLost(double seconds) {
  for (int r = 0; r < int(peers.size()); ++r) {
    Peer &peer = peers[size_t(r)];
    peer.silence.pass(seconds);
    if (r == rank || peer.isDone || beat > 0)
      continue;
    if (peer.silence.hasEnded())
      end(r, "is gone: killed, or see its message");
    if (timeout > 0 && peer.silence.seconds() > timeout)
      end(r, "has not been heard of for " +
                 std::to_string(int(peer.silence.seconds())) +
                 " s: killed, stopped or cut off");
  }
}

void Watch::end(int peer, const std::string &what) {
  std::fprintf(stderr,
               "error: rank %d: rank %d %s; start all ranks again with "
               "--resume\n",
               rank, peer, what.c_str());
  _exit(int(Exit::PeerFailed));
}

/// Bounds what all ranks do together inside MPI while nobody watches: where one
/// is killed before MPI_Init or MPI_Finalize, these wait for ever.
class Limit {
public:
  Limit(int rank, const char *what, const char *todo)
      : rank(rank), what(what), todo(todo) {
    thread = startSmallThread(enter, this, "limit of start and end");
  }
  ~Limit() {
    isOver = true;
    pthread_join(thread, nullptr);
  }

private:
  static void *enter(void *self) {
    static_cast<Limit *>(self)->work();
    return nullptr;
  }
  void work() const {
    double timeout = readTimeout(), seconds = timeout > 0 ? timeout + 10 : 0;
    auto end = Clock::now() + std::chrono::duration<double>(seconds);
    while (!isOver && (seconds == 0 || Clock::now() < end))
      usleep(20000);
    if (isOver)
      return;
    std::fprintf(stderr,
                 "error: rank %d: not all ranks have %s within %g s: one was "
                 "killed or is slow; %s\n",
                 rank, what, seconds, todo);
    _exit(int(Exit::PeerFailed));
  }

  int rank;
  const char *what, *todo;
  std::atomic<bool> isOver{false};
  pthread_t thread;
};

/// Messages that come before they are asked for make MPI allocate, once. So
/// some of every kind do so now: several numbers from everyone, and from the
/// rank before as much as it may send ahead, by size.
void rehearse(MPI_Comm comm, int rank, int ranks) {
  constexpr int sizes[] = {64, 256, 1024, 3500, 16000, 60000, 1 << 20};
  constexpr int ahead = 8, largest = sizes[6];
  std::vector<char> out(largest), in(largest);
  std::vector<MPI_Request> requests;
  for (int size : sizes) {
    int peers = size > 256 ? 1 : ranks - 1;
    for (int away = 1; away <= peers; ++away)
      for (int i = 0; i < ahead; ++i)
        checkMpi(MPI_Isend(out.data(), size, MPI_BYTE, (rank + away) % ranks, i,
                           comm, &requests.emplace_back()),
                 "MPI_Isend");
    for (int away = 1; away <= peers; ++away) // the last: all have come
      for (int isThere = 0; !isThere; sched_yield())
        checkMpi(MPI_Iprobe((rank + ranks - away) % ranks, ahead - 1, comm,
                            &isThere, MPI_STATUS_IGNORE),
                 "MPI_Iprobe");
    for (int away = 1; away <= peers; ++away)
      for (int i = 0; i < ahead; ++i)
        checkMpi(MPI_Recv(in.data(), size, MPI_BYTE,
                          (rank + ranks - away) % ranks, i, comm,
                          MPI_STATUS_IGNORE),
                 "MPI_Recv");
    checkMpi(
        MPI_Waitall(int(requests.size()), requests.data(), MPI_STATUSES_IGNORE),
        "MPI_Waitall");
    requests.clear();
  }
}

class Mpi : public Transport {
public:
  Mpi(int plannedRank, int plannedRanks);
  ~Mpi() override;

  int rank() const override { return self; }
  int ranks() const override { return size; }
  void start(int slot, const Transfer &transfer) override;
  void wait(int slot) override { waitForAll(requests[slot], 2); }
  void post(int outbox, int to, int channel, const void *data,
            uint64_t bytes) override {
    posts->post(outbox, to, channel, data, bytes);
    sent += bytes;
  }
  void finishPost(int outbox) override { posts->finish(outbox); }
  void receive(int from, int channel, void *data, uint64_t bytes) override {
    posts->receive(from, channel, data, bytes);
  }
  void rehearsePosts(const std::vector<int> &members, int ahead) override {
    posts->rehearse(members, ahead);
  }
  void announceFailure(int exitCode) override {
    failed = true;
    watch->say(exitCode);
  }

private:
  int self = 0, size = 1;
  MPI_Comm comm;
  MPI_Request requests[slots][2];
  std::unique_ptr<MpiPosts> posts;
  std::unique_ptr<Watch> watch;
  bool failed = false;
};

Mpi::Mpi(int plannedRank, int plannedRanks) {
  int provided = 0;
  Limit limit(plannedRank, "come together",
              "start all ranks again, with a larger TTS_RANK_TIMEOUT if they "
              "are slow");
  checkMpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided),
           "MPI_Init_thread");
  MPI_Comm_rank(MPI_COMM_WORLD, &self);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (provided < MPI_THREAD_MULTIPLE)
    throw Error(Exit::Refused, "MPI", "it does not serve several threads",
                "use one built with MPI_THREAD_MULTIPLE");
  if (size != plannedRanks || self != plannedRank)
    throw Error(Exit::Refused, "MPI",
                "it counts this process as rank " + std::to_string(self) +
                    " of " + std::to_string(size) + ", its launcher as " +
                    std::to_string(plannedRank) + " of " +
                    std::to_string(plannedRanks),
                "start the program with the mpirun of the MPI it is linked to");
  checkMpi(MPI_Comm_dup(MPI_COMM_WORLD, &comm), "MPI_Comm_dup");
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  std::fill_n(requests[0], 2 * slots, MPI_REQUEST_NULL);
  posts = std::make_unique<MpiPosts>();
  watch = std::make_unique<Watch>(self, size);
  rehearse(comm, self, size);
}

Mpi::~Mpi() {
  if (failed)
    return; // the others will not come to MPI_Finalize
  watch->say(Done);
  watch.reset();
  posts.reset();
  Limit limit(self, "come to their end", "everything is saved");
  MPI_Finalize();
}

void Mpi::start(int slot, const Transfer &t) {
  if (t.inBytes)
    checkMpi(MPI_Irecv(t.in, int(t.inBytes), MPI_BYTE, t.from, slot, comm,
                       &requests[slot][0]),
             "MPI_Irecv");
  if (t.outBytes)
    checkMpi(MPI_Isend(t.out, int(t.outBytes), MPI_BYTE, t.to, slot, comm,
                       &requests[slot][1]),
             "MPI_Isend");
  sent += t.outBytes;
}

} // namespace

} // namespace tts::rt

tts::rt::Transport *tts_make_transport(int rank, int ranks) {
  return new tts::rt::Mpi(rank, ranks);
}
