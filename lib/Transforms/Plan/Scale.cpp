//===- Scale.cpp - a job on many ranks, by formulas ----------------------===//

#include "ScaleParts.h"

#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cmath>

using namespace tts::plan;

llvm::StringRef tts::plan::shardingName(Sharding sharding) {
  constexpr llvm::StringLiteral names[] = {"none", "optimizer", "gradients",
                                           "parameters"};
  return names[static_cast<int>(sharding)];
}

double tts::plan::gatherSeconds(const Hardware &hardware, int64_t bytes,
                                int64_t ranks) {
  return hardware.allReduceSeconds(bytes, ranks) / 2;
}

ScaleParts::ScaleParts(const ScaleWork &work, const ScaleLayout &layout,
                       const Hardware &hardware) {
  double stages = layout.stages;
  pieces = std::max<int64_t>(work.pieces / layout.stages, 1);
  // Fewer replicas have more of the batch each.
  microBatches = std::max<int64_t>(
      std::llround(work.microBatches * stages * layout.split), 1);
  double shares = stages * pieces;
  forward = work.forwardSeconds / shares / layout.split;
  backward = work.backwardSeconds / shares / layout.split;
  update = work.updateSeconds / stages;
  if (layout.sharding != Sharding::None)
    update /= layout.data;
  // Replicas of a stage lie as far apart as ranks do.
  auto over = [&](int64_t bytes) {
    const Link *link = hardware.linkOf(work.ranks);
    if (layout.data < 2 || !link)
      return 0.0;
    Hardware apart = hardware;
    apart.links = {*link};
    apart.links.front().ranks = 0;
    return gatherSeconds(apart, int64_t(bytes / shares), layout.data);
  };
  gather = over(work.parameterBytes);
  scatter = over(work.gradientBytes);
  reduce = 2 * scatter;
  const Link *near = hardware.linkOf(layout.stages);
  send =
      layout.stages > 1 && near
          ? near->latency + work.boundaryBytes / layout.split / near->bandwidth
          : 0;
}

std::vector<ScaleLayout> tts::plan::findLayouts(const ScaleWork &work) {
  std::vector<ScaleLayout> layouts;
  for (Sharding sharding : {Sharding::None, Sharding::Optimizer,
                            Sharding::Gradients, Sharding::Parameters})
    if (work.ranks > 1 || sharding == Sharding::None)
      layouts.push_back({work.ranks, 1, sharding});
  constexpr int64_t mostStages = 8;
  for (int64_t stages = 2; stages <= mostStages; stages *= 2) {
    if (work.ranks % stages != 0 || work.pieces < stages)
      continue;
    int64_t split = 1;
    while (work.microBatches * split < 4 && split * 2 <= work.utterances)
      split *= 2;
    for (Sharding sharding : {Sharding::None, Sharding::Optimizer})
      if (sharding == Sharding::None || work.ranks > stages)
        layouts.push_back({work.ranks / stages, stages, sharding, split});
  }
  return layouts;
}

/// n tasks on a processor that each send something over one link as they end:
/// for how long the link is still busy when the processor is done.
static double tailOf(double task, double transfer, int64_t n) {
  return transfer + std::max(0.0, (n - 1) * (transfer - task));
}

/// n tasks that each wait for something over one link, which fetches one ahead,
/// and send something over it as they end: for how long the processor waits in
/// all, the last transfer included.
static double headOf(double task, double fetch, double transfer, int64_t n) {
  double waits = fetch + transfer;
  if (n > 1)
    waits += std::max(0.0, fetch - task) + std::max(0.0, transfer - task) +
             (n - 2) * std::max(0.0, fetch + transfer - task);
  return waits;
}

/// What one replica of one stage waits for collectives in an update.
static double exposedOf(const ScaleParts &p, Sharding sharding, bool overlaps) {
  int64_t n = p.pieces, k = p.microBatches;
  double micro = n * (p.forward + p.backward);
  switch (sharding) {
  case Sharding::None:
    return overlaps ? tailOf(p.backward, p.reduce, n) : n * p.reduce;
  case Sharding::Optimizer:
    return (overlaps ? tailOf(p.backward, p.scatter, n) : n * p.scatter) +
           n * p.gather;
  case Sharding::Gradients:
    // Every micro-batch's; the link may fall behind from one to the next.
    return (overlaps ? tailOf(p.backward, p.scatter, n) +
                           (k - 1) * std::max(0.0, n * p.scatter - micro)
                     : k * n * p.scatter) +
           n * p.gather;
  case Sharding::Parameters: {
    if (!overlaps)
      return k * n * (2 * p.gather + p.scatter);
    double forward = headOf(p.forward, p.gather, 0, n);
    double backward = headOf(p.backward, p.gather, p.scatter, n);
    return k * (forward + backward);
  }
  }
  return 0;
}

static int64_t bytesOf(const ScaleWork &work, const ScaleLayout &layout,
                       const ScaleParts &p) {
  auto part = [](int64_t bytes, int64_t parts) {
    return static_cast<int64_t>(llvm::divideCeil(bytes, parts));
  };
  int64_t parameters = part(work.parameterBytes, layout.stages);
  int64_t gradients = part(work.gradientBytes, layout.stages);
  int64_t optimizer = part(work.optimizerBytes, layout.stages);
  int64_t transient = 0;
  if (layout.sharding >= Sharding::Optimizer)
    optimizer = part(optimizer, layout.data);
  if (layout.sharding >= Sharding::Gradients) {
    transient += part(gradients, p.pieces);
    gradients = part(gradients, layout.data);
  }
  if (layout.sharding == Sharding::Parameters) {
    // One that is used and one that is fetched.
    transient += 2 * part(parameters, p.pieces);
    parameters = part(parameters, layout.data);
  }
  // The first stage has begun as many micro-batches as there are stages.
  int64_t begun = std::min(layout.stages, p.microBatches);
  return parameters + gradients + optimizer + transient +
         part(work.activationBytes, layout.stages * layout.split) * begun +
         work.otherBytes;
}

/// Each collective moves (D-1)/D of its bytes, a sum twice as many.
static int64_t sentBytesOf(const ScaleWork &work, const ScaleLayout &layout,
                           const ScaleParts &p) {
  auto of = [&](int64_t bytes) {
    return allReduceBytes(bytes / layout.stages, layout.data) / 2;
  };
  int64_t parameters = of(work.parameterBytes),
          gradients = of(work.gradientBytes), k = p.microBatches;
  switch (layout.sharding) {
  case Sharding::None:
    return 2 * gradients;
  case Sharding::Optimizer:
    return gradients + parameters;
  case Sharding::Gradients:
    return k * gradients + parameters;
  case Sharding::Parameters:
    return k * (gradients + 2 * parameters);
  }
  return 0;
}

ScalePrediction tts::plan::predictScale(const ScaleWork &work,
                                        const ScaleLayout &layout,
                                        const Hardware &hardware) {
  ScaleParts p(work, layout, hardware);
  double micro = p.pieces * (p.forward + p.backward);
  ScalePrediction prediction;
  prediction.computeSeconds = p.microBatches * micro + p.update;
  // One micro-batch there and back through the other stages (1F1B; Narayanan et
  // al., arXiv:1806.03377). With S begun at a time a stage sees one of them
  // every S-th part of its way, so what is sent on the way shows in each.
  prediction.bubbleSeconds = (layout.stages - 1) * micro;
  double onTheWay = 2 * (layout.stages - 1) * p.send;
  double ways = 1 + double(p.microBatches - 1) / layout.stages;
  prediction.exposedSeconds =
      (layout.data > 1 ? exposedOf(p, layout.sharding, work.overlaps) : 0) +
      onTheWay * ways;
  prediction.rankBytes = bytesOf(work, layout, p);
  prediction.sentBytes = layout.data > 1 ? sentBytesOf(work, layout, p) : 0;
  return prediction;
}
