//===- Cut.h - the cheapest kept set at a price for bytes ----------------===//

#ifndef TTS_LIB_TRANSFORMS_PLAN_REMAT_CUT_H
#define TTS_LIB_TRANSFORMS_PLAN_REMAT_CUT_H

#include "tts/Transforms/Plan/Remat.h"

namespace tts::plan {

/// min Σ seconds of what is computed again + Σ price of what is kept, where
/// what is read or what a recomputed operation reads is kept or recomputed: a
/// minimum cut. Each value has a node "must be there" and a node "is computed
/// again"; the edge between them costs its price, the edge from the second to
/// the sink its seconds, and infinite edges lead from the second to the first
/// node of its operands. Prices may only rise: the flow is kept (Gallo,
/// Grigoriadis, Tarjan 1989).
class RematCut {
public:
  explicit RematCut(const RematProblem &problem);

  /// Seconds of keeping value `op` from now on; not below what it was.
  void setPrice(unsigned op, double price);
  /// Seconds added to computing `op` again; not below what it was.
  void setCost(unsigned op, double seconds);
  /// Solves: the cut's value, and for each operation what it is.
  double solve();
  /// At most this much of the value comes from rounding.
  double roundingError() const;
  bool isKept(unsigned op) const;
  bool isRecomputed(unsigned op) const;

private:
  struct Edge {
    unsigned to;
    int64_t residual;
  };

  unsigned addEdge(unsigned from, unsigned to, int64_t capacity);
  void finishEdges();
  int64_t scaled(double seconds) const;
  void raise(unsigned edge, double seconds);
  bool layer();
  int64_t augment();

  const RematProblem &problem;
  double scale = 1;
  unsigned source, sink;
  int64_t flow = 0;
  /// Edge e's reverse is e ^ 1; `incident` lists the edges of each node.
  std::vector<Edge> edges;
  std::vector<int64_t> capacity;
  std::vector<unsigned> firstIncident, incident, cursor, path;
  std::vector<int> depth;
  std::vector<unsigned> queue;
  /// Of each operation: edges of its price and of its seconds.
  std::vector<unsigned> priceEdge, costEdge;
  std::vector<char> onSourceSide;
};

} // namespace tts::plan

#endif // TTS_LIB_TRANSFORMS_PLAN_REMAT_CUT_H
