//===- Compilation.cpp - one model on its way through phases -------------===//

#include "Compilation.h"

#include "FrontFile.h"
#include "OutputFile.h"
#include "ParseModel.h"
#include "PlanReport.h"
#include "tts/Dialect/Tts/IR/Names.h"
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
  if (auto error = applyFlags(*module, flags, request, changes))
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

llvm::Error Compilation::plan() {
  if (auto split = findSplitBatch(*module, request))
    return badUsage(getStableName(split->place), split->what, split->todo);
  if (auto refusal = findUpdateRefusal(*module, request))
    return badUsage("--optimizer-in-backward", refusal->what, refusal->todo);
  TimingScope planning = timing.nest("plan");
  request.timing = &planning;
  if (flags.explain)
    for (int64_t gibibytes : {8, 12, 16, 24, 40, 80})
      request.furtherBudgets.push_back(gibibytes << 30);
  PlanFront front;
  std::string key;
  if (!flags.planFront.empty()) {
    key = keyOfFront(*module, request);
    if (auto error = readFront(flags.planFront, key, context).moveInto(front))
      return error;
    request.front = &front;
  }
  auto planned = makePlan(*module, request);
  request.timing = nullptr;
  request.front = nullptr;
  if (failed(planned))
    return failure("correct the model there, see docs/ir-contracts.md");
  result.emplace(std::move(*planned));
  if (!flags.planFront.empty())
    if (auto error = writeFile(flags.planFront, frontJson(front, key)))
      return error;
  if (flags.explain)
    printExplanation(llvm::errs(), *this);
  if (!result->fits)
    return llvm::make_error<Failure>(
        ExitCode::Infeasible, "--memory-budget",
        "no plan fits " + plan::formatByteSize(result->budget) + ", " +
            llvm::StringRef(explainInfeasible(*result)).split("; ").first.str(),
        llvm::StringRef(explainInfeasible(*result)).split("; ").second.str());
  notePlan(*module, request, *result);
  if (flags.planTable != "none")
    printPlanTable(llvm::errs(), *this);
  if (flags.planJson.empty())
    return llvm::Error::success();
  return writeFile(flags.planJson, planJson(*this, /*executableHash=*/""));
}
