//===- World.h - the ranks of a run, as one of them sees it --------------===//

#ifndef TTS_RUNTIME_COLLECTIVES_WORLD_H
#define TTS_RUNTIME_COLLECTIVES_WORLD_H

#include "Runtime/Collectives/Group.h"
#include "Runtime/Collectives/Launch.h"
#include "Runtime/Collectives/Transport.h"
#include <memory>
#include <vector>

namespace tts::rt {

/// Which ranks: as TtsAmong.
enum class Among { All, Replicas, Stages };

class World {
public:
  /// Alone.
  World() = default;
  /// The replicas of one of the pipeline's stages are neighbours.
  /// `alike`: they run one step table.
  explicit World(std::unique_ptr<Transport> transport, int stages = 1,
                 bool alike = true);

  int rank() const { return transport ? transport->rank() : 0; }
  int ranks() const { return transport ? transport->ranks() : 1; }
  bool isFirst() const { return rank() == 0; }
  int stages() const { return numStages; }
  int stage() const { return rank() / replicas(); }
  /// Of the whole model.
  int replicas() const { return ranks() / numStages; }
  int replica() const { return rank() % replicas(); }
  /// Whether the replicas of this stage run the same step table.
  bool replicasAreAlike() const { return alike; }
  /// Null when alone.
  Transport *messages(Among among = Among::All) const {
    return among == Among::Replicas && ofReplicas ? ofReplicas.get()
           : among == Among::Stages && ofStages   ? ofStages.get()
                                                  : transport.get();
  }

  /// The most numbers that one call below takes.
  static constexpr size_t most = 256;
  /// Each value becomes its sum over the ranks, added in one order: the same
  /// bits everywhere. While their number is even, a rank and the one half of
  /// them away first, as the gradients are.
  void sum(double *values, size_t count, Among among = Among::All);
  /// The largest of the ranks' values.
  double maximum(double value);
  /// The values of these ranks, rank by rank; valid until the next call.
  double *gather(const double *values, size_t count, Among among = Among::All);
  /// Returns when all ranks have come here.
  void meet();
  /// Of gradients and states, without the numbers above, since the start.
  uint64_t bulkBytesSent() const { return bulk() - bulkBefore; }
  /// What was sent until now was no part of the training.
  void start() { bulkBefore = bulk(); }

  /// Tells the others that this rank ends with an error.
  void announceFailure(int exitCode);

private:
  uint64_t bulk() const {
    return transport ? transport->bytesSent() - numbersSent : 0;
  }

  std::unique_ptr<Transport> transport;
  int numStages = 1;
  bool alike = true;
  std::unique_ptr<Group> ofReplicas, ofStages; ///< null: one stage
  std::vector<double> gathered;
  uint64_t numbersSent = 0, bulkBefore = 0;
};

} // namespace tts::rt

/// MPI's transport: in the archive that programs of several ranks are linked
/// with, absent (null) from the others.
extern "C" tts::rt::Transport *tts_make_transport(int rank, int ranks)
    __attribute__((weak));

#endif // TTS_RUNTIME_COLLECTIVES_WORLD_H
