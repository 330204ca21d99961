//===- MpiPosts.h - messages that go on while a rank computes ------------===//
//
// MPI moves a large message only while its sender is inside MPI, which a rank
// that computes is not. So while a message is under way a thread calls MPI
// again and again, and sleeps otherwise.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_RUNTIME_COLLECTIVES_MPIPOSTS_H
#define TTS_RUNTIME_COLLECTIVES_MPIPOSTS_H

#include "Runtime/Abi/Error.h"
#include <condition_variable>
#include <mpi.h>
#include <mutex>
#include <pthread.h>
#include <string>
#include <vector>

namespace tts::rt {

inline void checkMpi(int status, const char *call) {
  if (status != MPI_SUCCESS)
    throw Error(Exit::PeerFailed, "MPI",
                std::string(call) + " failed with status " +
                    std::to_string(status),
                "see the other ranks' messages and continue with --resume");
}

/// Polls until all are through, since ranks may share a core: who waits makes
/// way.
void waitForAll(MPI_Request *requests, int count);

class MpiPosts {
public:
  MpiPosts();
  ~MpiPosts();
  MpiPosts(const MpiPosts &) = delete;
  MpiPosts &operator=(const MpiPosts &) = delete;

  /// See Transport.
  void post(int outbox, int to, int channel, const void *data, uint64_t bytes);
  void finish(int outbox);
  void receive(int from, int channel, void *data, uint64_t bytes);
  void rehearse(const std::vector<int> &members, int ahead);

private:
  struct Open {
    int outbox;
    MPI_Request request;
  };
  bool isOpen(int outbox) const;
  void test();
  void work();
  static void *enter(void *self);

  MPI_Comm comm;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Open> open; ///< guarded, as the next ones
  int status = MPI_SUCCESS;
  bool stopping = false;
  pthread_t thread;
};

} // namespace tts::rt

#endif // TTS_RUNTIME_COLLECTIVES_MPIPOSTS_H
