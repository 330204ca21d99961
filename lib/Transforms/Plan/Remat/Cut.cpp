//===- Cut.cpp - Dinic's algorithm with flows kept between prices --------===//

#include "Cut.h"

#include <algorithm>
#include <cmath>

using namespace tts::plan;

static constexpr int64_t kInfinite = int64_t(1) << 60;
/// All seconds together are this many units; prices are capped above it.
static constexpr double kUnits = double(int64_t(1) << 44);

RematCut::RematCut(const RematProblem &problem)
    : problem(problem), source(2 * problem.ops.size()), sink(source + 1),
      priceEdge(problem.ops.size()), costEdge(problem.ops.size()) {
  double seconds = 0;
  for (const RematOp &op : problem.ops)
    seconds += op.seconds;
  scale = seconds > 0 ? kUnits / seconds : 1;
  for (unsigned i = 0; i < problem.ops.size(); ++i) {
    const RematOp &op = problem.ops[i];
    priceEdge[i] =
        addEdge(2 * i, 2 * i + 1, op.canKeep && !op.isFree ? 0 : kInfinite);
    costEdge[i] = addEdge(2 * i + 1, sink,
                          !op.canRecompute ? kInfinite
                          : op.isFree      ? 0
                                           : scaled(op.seconds));
    for (unsigned operand : op.operands)
      addEdge(2 * i + 1, 2 * operand, kInfinite);
  }
  for (const RematStep &step : problem.steps)
    for (unsigned use : step.uses)
      addEdge(source, 2 * use, kInfinite);
  finishEdges();
}

int64_t RematCut::scaled(double seconds) const {
  return std::llround(std::min(seconds * scale, 4 * kUnits));
}

unsigned RematCut::addEdge(unsigned from, unsigned to, int64_t amount) {
  edges.push_back({to, amount});
  edges.push_back({from, 0});
  capacity.push_back(amount);
  return edges.size() - 2;
}

void RematCut::finishEdges() {
  firstIncident.assign(sink + 2, 0);
  for (const Edge &edge : edges)
    ++firstIncident[edge.to + 1];
  for (size_t i = 1; i < firstIncident.size(); ++i)
    firstIncident[i] += firstIncident[i - 1];
  incident.resize(edges.size());
  std::vector<unsigned> next(firstIncident.begin(), firstIncident.end() - 1);
  for (unsigned e = 0; e < edges.size(); ++e)
    incident[next[edges[e ^ 1].to]++] = e;
  depth.resize(sink + 1);
  cursor.resize(sink + 1);
}

void RematCut::raise(unsigned edge, double seconds) {
  int64_t amount = scaled(seconds), &now = capacity[edge / 2];
  if (amount <= now)
    return;
  edges[edge].residual += amount - now;
  now = amount;
}

void RematCut::setPrice(unsigned op, double price) {
  raise(priceEdge[op], price);
}

void RematCut::setCost(unsigned op, double seconds) {
  raise(costEdge[op], seconds);
}

/// Distances to the sink; false if the source cannot reach it.
bool RematCut::layer() {
  std::fill(depth.begin(), depth.end(), -1);
  queue.assign(1, sink);
  depth[sink] = 0;
  for (size_t head = 0; head < queue.size(); ++head) {
    unsigned node = queue[head];
    for (unsigned i = firstIncident[node]; i < firstIncident[node + 1]; ++i) {
      unsigned back = incident[i] ^ 1, from = edges[incident[i]].to;
      if (edges[back].residual > 0 && depth[from] < 0) {
        depth[from] = depth[node] + 1;
        queue.push_back(from);
      }
    }
  }
  return depth[source] >= 0;
}

/// A blocking flow along shortest paths.
int64_t RematCut::augment() {
  std::copy(firstIncident.begin(), firstIncident.end() - 1, cursor.begin());
  int64_t total = 0;
  path.clear();
  unsigned node = source;
  while (true) {
    if (node == sink) {
      int64_t amount = kInfinite;
      for (unsigned e : path)
        amount = std::min(amount, edges[e].residual);
      size_t saturated = path.size();
      for (size_t i = path.size(); i-- > 0;) {
        edges[path[i]].residual -= amount;
        edges[path[i] ^ 1].residual += amount;
        if (edges[path[i]].residual == 0)
          saturated = i;
      }
      total += amount;
      node = edges[path[saturated] ^ 1].to;
      path.resize(saturated);
      continue;
    }
    bool stepped = false;
    for (unsigned &i = cursor[node]; i < firstIncident[node + 1]; ++i) {
      unsigned e = incident[i];
      if (edges[e].residual <= 0 || depth[edges[e].to] != depth[node] - 1)
        continue;
      path.push_back(e);
      node = edges[e].to;
      stepped = true;
      break;
    }
    if (stepped)
      continue;
    if (path.empty())
      return total;
    node = edges[path.back() ^ 1].to;
    path.pop_back();
    ++cursor[node];
  }
}

double RematCut::solve() {
  while (layer())
    flow += augment();
  // What the source still reaches.
  onSourceSide.assign(sink + 1, 0);
  onSourceSide[source] = 1;
  queue.assign(1, source);
  for (size_t head = 0; head < queue.size(); ++head)
    for (unsigned i = firstIncident[queue[head]];
         i < firstIncident[queue[head] + 1]; ++i) {
      const Edge &edge = edges[incident[i]];
      if (edge.residual > 0 && !onSourceSide[edge.to]) {
        onSourceSide[edge.to] = 1;
        queue.push_back(edge.to);
      }
    }
  return flow / scale;
}

double RematCut::roundingError() const {
  return 2.0 * double(problem.ops.size()) / scale;
}

bool RematCut::isKept(unsigned op) const {
  return onSourceSide[2 * op] && !onSourceSide[2 * op + 1];
}

bool RematCut::isRecomputed(unsigned op) const {
  return onSourceSide[2 * op + 1];
}
