//===- Rungs.cpp - what of forward a bucket keeps, computes again --------===//

#include "Rungs.h"

using namespace mlir;
using namespace tts;

/// Rungs closer than this in bytes are one.
static constexpr double kSpacing = 0.96;

Rungs::Rungs(func::FuncOp forward, func::FuncOp backward, const TimeModel &time,
             StringRef remat, FloatType half)
    : rungs(1) {
  const bool recomputes = remat != "none";
  SmallVector<HalfStorage> storages = {{}};
  if (half)
    storages.push_back({half, /*everything=*/false, recomputes});
  if (half && recomputes)
    storages.push_back({half, /*everything=*/true, recomputes});
  if (!half && !recomputes)
    return;
  std::vector<Rung> found;
  for (const HalfStorage &storage : storages) {
    const RematGraph &graph = *graphs.emplace_back(
        std::make_unique<RematGraph>(forward, backward, time, storage));
    std::vector<plan::RematPlan> plans = graph.solve();
    if (plans.empty())
      continue;
    if (!storage.type)
      rungs.front().plan = plans.front();
    if (!storage.type && !recomputes)
      continue;
    if (remat == "full")
      plans = {plans.back()};
    for (plan::RematPlan &plan : plans)
      found.push_back({std::move(plan), &graph});
    found.back().isLeast = true;
  }
  // Fastest first, each smaller than the one before; what each problem takes
  // for its least stays, since peaks of different problems compare roughly.
  llvm::stable_sort(found, [](const Rung &a, const Rung &b) {
    return a.plan.seconds < b.plan.seconds;
  });
  const int64_t first = rungs.front().plan.peakBytes();
  int64_t least = first;
  for (Rung &rung : found) {
    const int64_t peak = rung.plan.peakBytes();
    if (peak < kSpacing * least || (rung.isLeast && peak < first)) {
      least = std::min(least, peak);
      rungs.push_back(std::move(rung));
    }
  }
  rungs.front().mayChoose = remat != "full" || rungs.size() == 1;
}

ArrayAttr Rungs::getRecompute(unsigned rung, MLIRContext *context) const {
  const auto &[plan, graph, mayChoose, isLeast] = rungs[rung];
  return graph ? graph->getRecompute(plan) : ArrayAttr::get(context, {});
}

ArrayAttr Rungs::getStore(unsigned rung, MLIRContext *context) const {
  const auto &[plan, graph, mayChoose, isLeast] = rungs[rung];
  return graph ? graph->getStore(plan) : ArrayAttr::get(context, {});
}

double Rungs::countRecomputedPart(unsigned rung) const {
  const auto &[plan, graph, mayChoose, isLeast] = rungs[rung];
  return graph ? graph->countFlops(plan) / graph->countFlops() : 0;
}
