//===- Compilation.cpp - one model on its way through phases -------------===//

#include "Compilation.h"

#include "FrontFile.h"
#include "OutputFile.h"
#include "ParseModel.h"
#include "PlanReport.h"
#include "tts/Dialect/Tts/IR/Names.h"
#include "tts/Pipelines/Stages.h"
#include "tts/Pipelines/UpdatePlace.h"
#include "tts/Pipelines/WholeBatch.h"
#include "tts/Transforms/Plan/ByteSize.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace tts;

std::string tts::sha256(StringRef bytes) {
  return llvm::toHex(llvm::SHA256::hash(llvm::arrayRefFromStringRef(bytes)),
                     /*LowerCase=*/true);
}

llvm::Error Compilation::failure(StringRef todo) {
  return diagnostics.take(path, todo);
}

llvm::Error Compilation::load(StringRef file) {
  TimingScope parsing = timing.nest("load");
  path = file == "-" ? "<stdin>" : file.str();
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(file, /*IsText=*/true);
  if (!buffer)
    return badInput(path, buffer.getError().message(),
                    "give a model file, see python -m tts.models");
  modelHash = sha256((*buffer)->getBuffer());
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(*buffer), llvm::SMLoc());
  module = parseModel(sources, context);
  if (!module)
    return failure("correct the model there");
  if (auto error = flags.check())
    return error;
  batch.emplace(*module, flags);
  if (auto error = applyFlags(*module, flags, request, changes))
    return error;
  if (auto error = batch->set(request.framesOfUtterance))
    return error;
  return readRequest(*module, flags, request);
}

llvm::Error Compilation::run(Phase first, Phase last) {
  PipelineOptions options;
  options.timing = &timing;
  if (failed(runPhases(*module, first, last, options)))
    return failure("correct the model there, see docs/ir-contracts.md");
  return llvm::Error::success();
}

llvm::Error Compilation::differentiate() {
  return run(Phase::Differentiate, Phase::Differentiate);
}

std::vector<std::string> Compilation::getChanges() const {
  std::vector<std::string> all = batch->getChanges();
  if (!loweredBatch.empty())
    all.push_back(loweredBatch);
  llvm::append_range(all, changes);
  return all;
}

/// At the batch that was asked for.
llvm::Error Compilation::choose() {
  PlanFront front;
  std::string key;
  if (!flags.planFront.empty()) {
    key = keyOfFront(*module, request);
    if (auto error = readFront(flags.planFront, key, context).moveInto(front))
      return error;
    request.front = &front;
  }
  request.needsProgram =
      needsProgram || flags.explain || !flags.planJson.empty();
  auto planned = makePlan(*module, request);
  request.front = nullptr;
  if (failed(planned))
    return failure("correct the model there, see docs/ir-contracts.md");
  result.emplace(std::move(*planned));
  if (!front.isNew)
    return llvm::Error::success();
  return writeFile(flags.planFront, frontJson(front, key));
}

/// At another; nothing is kept of it but the result.
llvm::Error Compilation::choose(int64_t other) {
  if (auto error = batch->set(other))
    return error;
  auto planned = makePlan(*module, request);
  if (failed(planned))
    return failure("correct the model there, see docs/ir-contracts.md");
  result.emplace(std::move(*planned));
  return llvm::Error::success();
}

/// Accumulation has cut the batch up already: a lower one frees room in the
/// loader's buffer alone, unless it must stay in one piece.
bool Compilation::mayLowerBatch(int64_t least) {
  double kept = double(least) / double(batch->get());
  return request.microBatch || findWholeBatchOp(*module) ||
         request.optimizerInBackward != "none" ||
         result->smallestBudget -
                 int64_t((1 - kept) * result->role().hostBufferBytes) <=
             result->budget;
}

/// Nothing fits: takes a lower batch where that is allowed, or names that way
/// out where it would help.
llvm::Error Compilation::lowerBatch() {
  const int64_t asked = batch->get();
  const int64_t least = request.ranks * request.groupsOfRank();
  SmallVector<int64_t> batches = getLowerBatches(asked, least);
  if (batches.empty() || !mayLowerBatch(batches.back()))
    return llvm::Error::success();
  if (!flags.allowBatchChange) // whether any would do
    batches.erase(batches.begin(), batches.end() - 1);
  PlanResult kept = std::move(*result);
  request.seeksWayOut = false;
  for (int64_t lower : batches) {
    if (auto error = choose(lower))
      return error;
    if (result->fits)
      break;
  }
  if (result->fits && flags.allowBatchChange) {
    loweredBatch = llvm::formatv(
        "the batch was lowered to {0}: nothing fits {1} bytes with {2}",
        batch->get(), result->budget, asked);
    return llvm::Error::success();
  }
  if (flags.allowBatchChange) { // the smallest there is
    result->wayOut = kept.wayOut;
    return llvm::Error::success();
  }
  if (result->fits)
    kept.wayOut += kept.wayOut.empty() ? "allow --allow-batch-change"
                                       : " or allow --allow-batch-change";
  result.emplace(std::move(kept));
  return batch->set(asked);
}

/// Where budgets differ, whose is the least.
static std::string tightestRanks(const PlanRequest &request) {
  SmallVector<int64_t> ranks;
  for (auto [rank, budget] : llvm::enumerate(request.budgets))
    if (budget == *request.budget)
      ranks.push_back(rank);
  return ranks.empty() ? "" : " of " + ranksText(ranks);
}

llvm::Error Compilation::plan() {
  if (auto split = findSplitBatch(*module, request))
    return badUsage(getStableName(split->place), split->what, split->todo);
  if (auto refusal = findUpdateRefusal(*module, request))
    return badUsage("--optimizer-in-backward", refusal->what, refusal->todo);
  if (int64_t stages = request.stages.value_or(1); stages > 1)
    if (auto refusal = findStageRefusal(*module, request, stages))
      return badUsage("--pipeline", refusal->what, refusal->todo);
  Operation *whole = findWholeBatchOp(*module);
  if (batch->getFrames() && (whole || request.optimizerInBackward != "none"))
    return badUsage("--batch-frames",
                    "the number of utterances varies, but " +
                        (whole ? "'" + getStableName(whole->getLoc()) + "'"
                               : "--optimizer-in-backward") +
                        " needs an update in one micro-batch",
                    "give --batch=B");
  TimingScope planning = timing.nest("plan");
  request.timing = &planning;
  if (flags.explain)
    for (int64_t gibibytes : {8, 12, 16, 24, 40, 80})
      request.furtherBudgets.push_back(gibibytes << 30);
  if (auto error = choose())
    return error;
  if (!result->fits)
    if (auto error = lowerBatch())
      return error;
  request.timing = nullptr;
  if (flags.explain)
    printExplanation(llvm::errs(), *this);
  if (!result->fits)
    return llvm::make_error<Failure>(
        ExitCode::Infeasible, "--memory-budget",
        "no plan fits " + plan::formatByteSize(result->budget) +
            tightestRanks(request) + ", " +
            llvm::StringRef(explainInfeasible(*result)).split("; ").first.str(),
        llvm::StringRef(explainInfeasible(*result)).split("; ").second.str());
  notePlan(*module, request, *result);
  if (flags.planTable != "none")
    printPlanTable(llvm::errs(), *this);
  if (flags.planJson.empty())
    return llvm::Error::success();
  return writeFile(flags.planJson, planJson(*this, /*executableHash=*/""));
}
