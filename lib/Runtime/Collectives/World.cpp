//===- World.cpp - a few numbers over all ranks ---------------------------===//

#include "Runtime/Collectives/World.h"
#include "Runtime/Abi/Error.h"
#include <algorithm>
#include <string>

namespace tts::rt {

World::World(std::unique_ptr<Transport> all, int stages, bool alike)
    : transport(std::move(all)), numStages(stages), alike(alike) {
  gathered.resize(most * size_t(ranks()));
  if (stages == 1)
    return;
  if (ranks() % stages != 0)
    throw Error(Exit::Refused, "ranks",
                std::to_string(ranks()) + " cannot share " +
                    std::to_string(stages) + " stages evenly",
                "recompile the model with this version of tts-compile");
  std::vector<int> replicasHere, stagesHere;
  for (int r = 0; r < replicas(); ++r)
    replicasHere.push_back(stage() * replicas() + r);
  for (int s = 0; s < stages; ++s)
    stagesHere.push_back(s * replicas() + replica());
  ofReplicas = std::make_unique<Group>(*transport, std::move(replicasHere), 1);
  ofStages = std::make_unique<Group>(*transport, std::move(stagesHere), 2);
}

double *World::gather(const double *values, size_t count, Among among) {
  if (!transport) {
    gathered.assign(values, values + count);
    return gathered.data();
  }
  if (count > most)
    throw Error(Exit::Refused, "ranks",
                "a model with so many losses cannot be trained on several",
                "use fewer than 100 losses");
  Transport &group = *messages(among);
  int n = group.ranks(), rank = group.rank();
  uint64_t bytes = count * sizeof(double);
  std::copy(values, values + count, gathered.begin() + long(count) * rank);
  for (int away = 1; away < n; ++away) {
    int to = (rank + away) % n, from = (rank + n - away) % n;
    group.start(Transport::slotOfNumbers,
                {to, gathered.data() + count * size_t(rank), bytes, from,
                 gathered.data() + count * size_t(from), bytes});
    group.wait(Transport::slotOfNumbers);
    numbersSent += bytes;
  }
  return gathered.data();
}

void World::sum(double *values, size_t count, Among among) {
  if (!transport)
    return;
  double *all = gather(values, count, among);
  size_t rest = size_t(messages(among)->ranks());
  for (; rest % 2 == 0; rest /= 2)
    for (size_t i = 0; i < rest / 2 * count; ++i)
      all[i] += all[rest / 2 * count + i];
  std::copy(all, all + count, values);
  for (size_t r = 1; r < rest; ++r)
    for (size_t i = 0; i < count; ++i)
      values[i] += all[r * count + i];
}

double World::maximum(double value) {
  const double *all = gather(&value, 1);
  return *std::max_element(all, all + ranks());
}

void World::meet() {
  double nothing = 0;
  sum(&nothing, 1);
}

void World::announceFailure(int exitCode) {
  if (transport)
    transport->announceFailure(exitCode);
}

} // namespace tts::rt
