//===- World.cpp - a few numbers over all ranks ---------------------------===//

#include "Runtime/Collectives/World.h"
#include "Runtime/Abi/Error.h"
#include <algorithm>

namespace tts::rt {

World::World(std::unique_ptr<Transport> all) : transport(std::move(all)) {
  gathered.resize(most * size_t(ranks()));
}

double *World::gather(const double *values, size_t count) {
  if (!transport) {
    gathered.assign(values, values + count);
    return gathered.data();
  }
  if (count > most)
    throw Error(Exit::Refused, "ranks",
                "a model with so many losses cannot be trained on several",
                "use fewer than 100 losses");
  int n = ranks(), rank = this->rank();
  uint64_t bytes = count * sizeof(double);
  std::copy(values, values + count, gathered.begin() + long(count) * rank);
  for (int away = 1; away < n; ++away) {
    int to = (rank + away) % n, from = (rank + n - away) % n;
    transport->start(Transport::slotOfNumbers,
                     {to, gathered.data() + count * size_t(rank), bytes, from,
                      gathered.data() + count * size_t(from), bytes});
    transport->wait(Transport::slotOfNumbers);
    numbersSent += bytes;
  }
  return gathered.data();
}

void World::sum(double *values, size_t count) {
  if (!transport)
    return;
  double *all = gather(values, count);
  size_t rest = size_t(ranks());
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
