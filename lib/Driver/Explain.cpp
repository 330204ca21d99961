//===- Explain.cpp - the choices considered, and why one won -------------===//

#include "PlanReport.h"

#include "tts/Transforms/Plan/ByteSize.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tts;

StringRef tts::rematText(ConsideredChoice::Remat remat) {
  switch (remat) {
  case ConsideredChoice::Remat::None:
    return "none";
  case ConsideredChoice::Remat::ElementWise:
    return "element-wise";
  case ConsideredChoice::Remat::Partial:
    return "partial";
  case ConsideredChoice::Remat::Most:
    return "most";
  }
  llvm_unreachable("no such level");
}

bool tts::isDominated(const PlanResult &plan, size_t choice) {
  const ConsideredChoice &c = plan.considered[choice];
  return llvm::any_of(plan.considered, [&](const ConsideredChoice &other) {
    bool isNoWorse =
        other.peakBytes <= c.peakBytes && other.stepSeconds <= c.stepSeconds;
    // An estimate says nothing against a choice that was lowered.
    return (other.isExact || !c.isExact) && isNoWorse &&
           (other.peakBytes < c.peakBytes || other.stepSeconds < c.stepSeconds);
  });
}

namespace {
/// "8,4,2": micro-batches by bucket; "8 x 5" where all are equal.
std::string microBatchesText(const ConsideredChoice &choice) {
  ArrayRef<int64_t> all = choice.microBatches;
  if (all.size() > 1 && llvm::all_equal(all))
    return llvm::formatv("{0} x {1}", all.front(), all.size());
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleave(all, os, ",");
  return text;
}

/// Precision, micro-batches, what is computed again, how much of the step that
/// is, and how many activations are kept in half.
std::string choiceText(const ConsideredChoice &choice) {
  return llvm::formatv("{0,-5} {1,-15} {2,-12} {3,5:f1} % {4,7}",
                       choice.precision, microBatchesText(choice),
                       rematText(choice.remat),
                       100 * *llvm::max_element(choice.recomputedParts),
                       *llvm::max_element(choice.storedValues));
}

std::string updateText(const ConsideredChoice &choice) {
  std::string text = choice.updateInBackward ? ", updated in backward" : "";
  if (choice.stateSharding != "none")
    text += ", sharded: " + choice.stateSharding;
  if (choice.prefetch)
    text += ", exchanged ahead";
  return text;
}

std::string figuresText(const ConsideredChoice &choice) {
  return llvm::formatv("{0}{1,15} {2,9:f4}", choice.isExact ? " " : "~",
                       choice.peakBytes, choice.stepSeconds);
}

/// States, activations, workspace, batch, all others with the gaps, overhead.
std::string classesText(const ConsideredChoice &choice) {
  const plan::ClassBytes &classes = choice.classes;
  int64_t states = 0;
  for (unsigned klass = 0; klass <= TTS_CLASS_EMA; ++klass)
    states += classes[klass];
  int64_t others = choice.unusedBytes() + classes[TTS_CLASS_COLLECTIVES] +
                   classes[TTS_CLASS_BUFFERS];
  return llvm::formatv("{0,13} {1,13} {2,12} {3,12} {4,12} {5,12}", states,
                       classes[TTS_CLASS_ACTIVATIONS],
                       classes[TTS_CLASS_WORKSPACE], classes[TTS_CLASS_BATCH],
                       others, choice.overheadBytes);
}

StringRef verdictOf(const PlanResult &plan, size_t index) {
  const ConsideredChoice &choice = plan.considered[index];
  for (const PlanRole &role : plan.roles)
    if (plan.fits && index == role.taken)
      return "chosen: the fastest that fits";
  if (choice.peakBytes > plan.budget)
    return "over the budget";
  if (isDominated(plan, index))
    return "another is no larger and no slower";
  if (plan.fits && choice.stepSeconds < plan.choice().stepSeconds)
    return "may not fit";
  return choice.isExact ? "fits, slower" : "fits, slower by the estimates";
}

void printChoices(llvm::raw_ostream &os, const PlanResult &plan) {
  os << "choices considered, fastest first by the estimates (~ estimated, * on "
        "the front of peak and time), bytes by class; states of the chosen "
        "one:\n  ";
  for (unsigned klass :
       {TTS_CLASS_PARAMETERS, TTS_CLASS_HALF_COPIES, TTS_CLASS_GRADIENTS,
        TTS_CLASS_OPTIMIZER, TTS_CLASS_EMA})
    if (int64_t bytes = plan.role().measure.live.classes[klass])
      os << plan::className(klass) << " " << bytes << "  ";
  os << llvm::formatv("\n  {0,-5} {1,-15} {2,-12} {3,7} {4,7} {5,13} {6,13} "
                      "{7,12} {8,12} {9,12} {10,12} {11,16} {12,9}\n",
                      "type", "micro-batches", "again", "of step", "in half",
                      "states", "activations", "workspace", "batch", "others",
                      "overhead", "peak bytes", "s/update");
  for (auto [index, choice] : llvm::enumerate(plan.considered))
    os << llvm::formatv(
        "{0} {1} {2} {3}  {4}{5}\n", isDominated(plan, index) ? " " : "*",
        choiceText(choice), classesText(choice), figuresText(choice),
        verdictOf(plan, index), updateText(choice));
}

/// Of the choices over the budget that are faster than the winner, the one that
/// lacks least; null when nothing is faster.
const ConsideredChoice *findNextFaster(const PlanResult &plan,
                                       const PlanRole &role) {
  const ConsideredChoice *next = nullptr;
  for (const ConsideredChoice &c : plan.considered)
    if (c.peakBytes > role.budget &&
        c.stepSeconds < plan.considered[role.taken].stepSeconds &&
        (!next || c.peakBytes < next->peakBytes))
      next = &c;
  return next;
}

void printWhy(llvm::raw_ostream &os, const PlanResult &plan,
              const PlanRole &role) {
  const ConsideredChoice &choice = plan.considered[role.taken];
  os << "won";
  if (plan.isMixed())
    os << " for " << ranksText(role.ranks);
  os << ": " << choice.precision << ", " << microBatchesText(choice) << ", "
     << rematText(choice.remat) << " again";
  if (int64_t count = *llvm::max_element(choice.storedValues))
    os << ", " << count << " activations in half";
  os << updateText(choice) << ": ";
  const ConsideredChoice *faster = findNextFaster(plan, role);
  if (!faster) {
    os << "nothing is faster\n";
    return;
  }
  os << llvm::formatv("the next faster one saves {0:f4} s and needs {1}{2} "
                      "bytes more than the budget\n",
                      choice.stepSeconds - faster->stepSeconds,
                      faster->isExact ? "" : "about ",
                      faster->peakBytes - role.budget);
}

void printWhy(llvm::raw_ostream &os, const PlanResult &plan) {
  if (!plan.fits)
    os << "nothing fits\n";
  else if (!plan.isMixed())
    printWhy(os, plan, plan.role());
  else
    for (const PlanRole &role : plan.roles)
      printWhy(os, plan, role);
}

void printBudgets(llvm::raw_ostream &os, const PlanResult &plan) {
  os << "what other budgets get:\n";
  for (const BudgetAnswer &answer : plan.answers) {
    os << llvm::formatv("  {0,3} GiB  ", answer.budget >> 30);
    if (answer.choice)
      os << choiceText(plan.considered[*answer.choice]) << " "
         << figuresText(plan.considered[*answer.choice])
         << updateText(plan.considered[*answer.choice]) << "\n";
    else
      os << "infeasible, the smallest is "
         << plan::formatByteSize(plan.smallestBudget) << "\n";
  }
}
} // namespace

void tts::printExplanation(llvm::raw_ostream &os, Compilation &compilation) {
  const PlanResult &plan = compilation.getPlan();
  printChoices(os, plan);
  printWhy(os, plan);
  printBudgets(os, plan);
  printScale(os, compilation);
}
