//===- WayOut.cpp - what to leave out of a request that nothing fits -----===//

#include "WayOut.h"

using namespace mlir;
using namespace tts;

/// The request for another plan at the same budget.
static PlanRequest copyForTrial(const PlanRequest &request) {
  PlanRequest freer = request;
  freer.furtherBudgets.clear();
  freer.budgets.clear(); // the least decides
  freer.front = nullptr;
  freer.timing = nullptr;
  return freer;
}

/// What was pinned and, left to the planner, gives a plan; the least first.
static std::string findPinned(const PlanRequest &request, bool hasMicroBatch,
                              FitsRequest fits) {
  bool hasRemat = request.remat != "auto";
  for (auto [frees, freesRemat] :
       {std::pair(false, true), {true, false}, {true, true}}) {
    if ((frees && !hasMicroBatch) || (freesRemat && !hasRemat))
      continue;
    PlanRequest freer = copyForTrial(request);
    std::string text = "leave out";
    if (freesRemat) {
      text += " --remat=" + request.remat;
      freer.remat = "auto";
    }
    if (frees) {
      text += (freesRemat ? " and" : "");
      text += " --micro-batch=" + std::to_string(*request.microBatch);
      freer.microBatch.reset();
    }
    if (fits(freer))
      return text;
  }
  return "";
}

/// Whether keeping activations in half would do; not tried where more is
/// lacking than half of what comes and goes.
static bool wouldFitInHalf(const PlanRequest &request,
                           const PlanResult &smallest, FitsRequest fits) {
  PlanRequest freer = copyForTrial(request);
  freer.halfStorage = "auto";
  const StepMeasure &m = smallest.role().measure;
  if (request.halfStorage != "none" || !freer.findStorageFault().empty() ||
      2 * (smallest.smallestBudget - smallest.budget) >
          m.arenaBytes - m.persistentBytes)
    return false;
  return fits(freer);
}

/// Whether shards of more states would do than were allowed.
static bool wouldFitInShards(const PlanRequest &request, FitsRequest fits) {
  PlanRequest freer = copyForTrial(request);
  freer.shardStates = "auto";
  return request.ranks > 1 && request.shardStates != "auto" &&
         !request.deterministic && fits(freer);
}

std::string tts::findWayOut(const PlanRequest &request,
                            const PlanResult &smallest, bool hasMicroBatch,
                            FitsRequest fits) {
  std::string text = findPinned(request, hasMicroBatch, fits);
  auto allow = [&](bool helps, llvm::StringRef flag) {
    if (helps)
      text += (text.empty() ? "allow " : " or allow ") + flag.str();
  };
  allow(wouldFitInHalf(request, smallest, fits), "--half-storage=auto");
  allow(wouldFitInShards(request, fits), "--shard-states=auto");
  return text;
}
