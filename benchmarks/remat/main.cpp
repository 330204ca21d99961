// Solves rematerialization problems written as lines and prints one JSON
// object: the ladder of plans, lower bounds at the given limits, CPU seconds.
//   o BYTES SCRATCH SECONDS FLAGS OPERAND…   FLAGS: of "fkrx" (free, cannot be
//                                            kept, cannot be recomputed, fuses)
//                                            or "-"
//   s BEFORE DURING FLAGS USE…               FLAGS: "x" (fuses) or "-"
//   b LIMIT                                  asks for the bound at this limit
//   k VALUE…                                 measures the plan that keeps these
//   r RUNGS WORK CASEWORK ASKEDWORK          RematOptions; many without it
#include "tts/Transforms/Plan/Remat.h"

#include <cinttypes>
#include <cstdio>
#include <ctime>
#include <iostream>
#include <sstream>

using namespace tts::plan;

static RematProblem readProblem(std::vector<int64_t> &limits,
                                std::vector<std::vector<unsigned>> &sets,
                                RematOptions &options) {
  RematProblem problem;
  std::string line, kind, flags;
  while (std::getline(std::cin, line)) {
    std::istringstream in(line);
    in >> kind;
    unsigned index;
    if (kind == "o") {
      RematOp op;
      in >> op.bytes >> op.scratchBytes >> op.seconds >> flags;
      op.isFree = flags.find('f') != std::string::npos;
      op.canKeep = flags.find('k') == std::string::npos;
      op.canRecompute = flags.find('r') == std::string::npos;
      op.fuses = flags.find('x') != std::string::npos;
      while (in >> index)
        op.operands.push_back(index);
      problem.ops.push_back(op);
    } else if (kind == "s") {
      RematStep step;
      in >> step.liveBefore >> step.liveDuring >> flags;
      step.fuses = flags == "x";
      while (in >> index)
        step.uses.push_back(index);
      problem.steps.push_back(step);
    } else if (kind == "b") {
      in >> limits.emplace_back();
    } else if (kind == "k") {
      sets.emplace_back();
      while (in >> index)
        sets.back().push_back(index);
    } else if (kind == "r") {
      in >> options.maxRungs >> options.searchWork >> options.caseWork >>
          options.askedWork;
    }
  }
  return problem;
}

static double cpuSeconds(std::clock_t since) {
  return double(std::clock() - since) / CLOCKS_PER_SEC;
}

static void print(const RematPlan &plan, bool last) {
  std::printf("  {\"seconds\": %.17g, \"peak\": %" PRId64
              ", \"forward\": %" PRId64 ", \"backward\": %" PRId64
              ", \"kept_bytes\": %" PRId64 ", \"kept\": [",
              plan.seconds, plan.peakBytes(), plan.forwardPeak,
              plan.backwardPeak, plan.keptBytes);
  for (size_t i = 0; i < plan.kept.size(); ++i)
    std::printf("%s%u", i ? "," : "", plan.kept[i]);
  std::printf("], \"clones\": [");
  for (size_t i = 0; i < plan.clones.size(); ++i)
    std::printf("%s[%u,%u]", i ? "," : "", plan.clones[i].op,
                plan.clones[i].step);
  std::printf("]}%s\n", last ? "" : ",");
}

int main() {
  std::vector<int64_t> limits;
  std::vector<std::vector<unsigned>> sets;
  RematOptions options{100'000, 20'000, {}, 20'000'000, 20'000};
  const RematProblem problem = readProblem(limits, sets, options);
  if (llvm::StringRef fault = problem.findFault(); !fault.empty()) {
    std::fprintf(stderr, "error: stdin: %s; mend the problem\n",
                 fault.str().c_str());
    return 1;
  }
  std::clock_t start = std::clock();
  options.limits = limits;
  const std::vector<RematPlan> plans = solveRemat(problem, options);
  std::printf("{\"cpu_seconds\": %.6f, \"plans\": [\n", cpuSeconds(start));
  for (const RematPlan &plan : plans)
    print(plan, &plan == &plans.back());
  std::printf("], \"given\": [\n");
  for (const std::vector<unsigned> &set : sets) {
    llvm::SmallVector<bool> kept(problem.ops.size());
    for (unsigned value : set)
      kept[value] = true;
    print(runRemat(problem, holdKept(problem, kept)), &set == &sets.back());
  }
  start = std::clock();
  std::printf("], \"bounds\": [");
  for (size_t i = 0; i < limits.size(); ++i) {
    double known = 0;
    for (const RematPlan &plan : plans)
      if (plan.peakBytes() <= limits[i] && known == 0)
        known = plan.seconds;
    std::printf("%s%.17g", i ? ", " : "",
                rematLowerBound(problem, limits[i], known, options.caseWork));
  }
  std::printf("], \"bound_cpu_seconds\": %.6f}\n", cpuSeconds(start));
  return 0;
}
