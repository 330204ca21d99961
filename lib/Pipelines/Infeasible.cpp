//===- Infeasible.cpp - what to say when nothing fits --------------------===//

#include "tts-runtime/Format.h"
#include "tts/Pipelines/Planning.h"

using namespace mlir;
using namespace tts;

std::string tts::ranksText(ArrayRef<int64_t> ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(ranks, os);
  return text;
}

std::string tts::explainInfeasible(const PlanResult &result) {
  // The largest classes of the smallest plan, overhead among them.
  SmallVector<std::pair<int64_t, StringRef>> classes = {
      {result.role().overheadBytes, "overhead"}};
  for (unsigned klass = 0; klass < plan::kNumClasses; ++klass)
    classes.push_back(
        {result.role().measure.live.classes[klass], plan::className(klass)});
  llvm::stable_sort(
      classes, [](const auto &a, const auto &b) { return a.first > b.first; });
  std::string text;
  llvm::raw_string_ostream os(text);
  int64_t lacking = result.smallestBudget - result.budget;
  os << "smallest feasible budget: " << result.smallestBudget << " bytes ("
     << llvm::format("%.3f", result.smallestBudget / 0x1p30) << " GiB, "
     << lacking << " more than allowed), bound by ";
  llvm::interleaveComma(ArrayRef(classes).take_front(3), os,
                        [&](auto &c) { os << c.second << " " << c.first; });
  os << "; cheapest way out: ";
  if (!result.wayOut.empty())
    os << result.wayOut << " or ";
  int64_t ema = result.role().measure.live.classes[TTS_CLASS_EMA];
  if (ema >= lacking)
    os << "train without EMA (" << ema << " bytes) or ";
  if (result.smallestBudget <= result.offered)
    os << "raise --memory-budget by " << lacking << " bytes";
  else
    os << "take hardware that offers " << result.smallestBudget
       << " bytes, this one offers " << result.offered;
  return text;
}
