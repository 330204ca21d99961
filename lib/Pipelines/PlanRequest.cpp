//===- PlanRequest.cpp - what a request allows ---------------------------===//

#include "tts/Pipelines/Planning.h"

#include "tts/Dialect/Tts/IR/Names.h"

using namespace mlir;
using namespace tts;

int64_t PlanRequest::groupsOfRank() const {
  return deterministic ? kFoldGroups / ranks : 1;
}

FloatType PlanRequest::halfTypeOf(StringRef inPrecision,
                                  MLIRContext *context) const {
  if (inPrecision != "fp32" || halfStorage == "none")
    return {};
  if (halfStorage == "fp16")
    return Float16Type::get(context);
  return BFloat16Type::get(context);
}

std::string PlanRequest::findStorageFault() const {
  if (!llvm::is_contained({"none", "auto", "bf16", "fp16"}, halfStorage))
    return "'" + halfStorage +
           "' is not supported; use none or auto or bf16 "
           "or fp16";
  if (halfStorage == "none" || precision == "auto" || precision == "fp32")
    return "";
  return "'" + halfStorage + "' is for programs that compute in fp32, not in " +
         precision + "; leave it out, or use --precision=fp32";
}
